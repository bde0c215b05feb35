// The % tokens and ${variables} in values of an ssh configuration. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

/// What tokens stand for. All outlive it.
struct Tokens {
  const std::string& host;   ///< as the user named it
  const HostConfig& config;  ///< HostName, User, Port, ProxyJump and HostKeyAlias are settled
  const Surroundings& surroundings;
};

struct Expanded {
  std::string text;
  std::vector<std::string> notes;  ///< tokens that are not supported
};
Expanded expand_tokens(std::string_view text, const Tokens& tokens);

/// HostName knows %h and %% only.
std::string expand_host_name(std::string_view text, const std::string& host);

/// ${NAME}; one that is not set is empty.
std::string expand_variables(std::string text, const Surroundings& surroundings);

}  // namespace dlaunch::transport::ssh
