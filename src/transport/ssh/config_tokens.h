// Expands % tokens and ${variables} in values of an ssh configuration. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

/// The values of tokens; the references must outlive the struct.
struct Tokens {
  const std::string& host;   ///< as the user wrote the name
  const HostConfig& config;  ///< HostName, User, Port, ProxyJump and HostKeyAlias must be set
  const SshContext& context;
};

/// Returns nullopt for an unknown token.
std::optional<std::string> expand_tokens(std::string_view text, const Tokens& tokens);

/// Expands a HostName; only %h and %% are valid there.
std::string expand_host_name(std::string_view text, const std::string& host);

/// Expands ${NAME}; nullopt if a variable is not set.
std::optional<std::string> expand_variables(std::string text, const SshContext& context);

}  // namespace dlaunch::transport::ssh
