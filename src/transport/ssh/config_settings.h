// The settings of an ssh configuration's lines that apply to one host, as written: no token is expanded yet. PURE.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"
#include "transport/ssh/address_family.h"
#include "transport/ssh/algorithms.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {

struct HostSettings {
  bool is_answer = false;  ///< from `ssh -G`, where values are not quoted
  std::string user;
  std::optional<int> port;
  std::optional<std::string> host_name;
  std::optional<std::string> jump;
  std::optional<std::string> command;
  std::optional<std::string> alias;
  std::optional<std::string> agent;
  std::optional<std::string> revoked;
  std::optional<std::string> preferred;  ///< authentication methods
  std::optional<std::string> canonical;  ///< set where canonical names are asked for
  std::optional<bool> public_keys;
  std::optional<bool> identities_only;
  std::optional<bool> hash_known;
  std::optional<int> connect_timeout;
  std::optional<plan::HostKey> host_key;
  std::optional<AddressFamily> family;
  std::vector<std::string> identities;
  std::vector<std::string> certificates;
  std::optional<std::vector<std::string>> user_known;
  std::optional<std::vector<std::string>> global_known;
  Algorithms algorithms;
  std::set<std::string> notes;
};

/// Adds a line's setting; the first value of a setting wins. A line that ssh refuses is an error.
Result<void> take_line(HostSettings& into, const ConfigLine& line);

}  // namespace dlaunch::transport::ssh
