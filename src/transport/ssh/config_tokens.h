// The % tokens and ${variables} in values of an ssh configuration. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

/// What tokens stand for. All outlive it.
struct Tokens {
  const std::string& host;   ///< as the user named it
  const HostConfig& config;  ///< HostName, User, Port, ProxyJump and HostKeyAlias are settled
  const SshContext& surroundings;
};

/// nullopt when one is not known.
std::optional<std::string> expand_tokens(std::string_view text, const Tokens& tokens);

/// HostName knows %h and %% only.
std::string expand_host_name(std::string_view text, const std::string& host);

/// ${NAME}; nullopt when one is not set.
std::optional<std::string> expand_variables(std::string text, const SshContext& surroundings);

}  // namespace dlaunch::transport::ssh
