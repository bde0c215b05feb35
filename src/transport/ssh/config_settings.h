// The settings from the lines of an ssh configuration that apply to one host, as written: tokens are not expanded.
// PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "dlaunch/error.h"
#include "dlaunch/request.h"
#include "transport/ssh/algorithms.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {

// Parses values and keywords of ssh_config(5). PURE.

/// Parses "90", "1m30s" or "2H" to seconds; very long times are cut.
std::optional<int> parse_seconds(std::string_view text);

/// Parses "512", "64K" or "1G" to bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// True for a keyword of OpenSSH, in lower case. Other keywords must be left to ssh: ssh refuses unknown keywords,
/// unless IgnoreUnknown names them.
bool is_keyword(std::string_view word);

struct HostSettings {
  bool is_answer = false;  ///< from `ssh -G`: values are not quoted
  std::string user;
  std::optional<int> port;
  std::optional<std::string> host_name;
  std::optional<std::string> jump;
  std::optional<std::string> command;
  std::optional<std::string> alias;
  std::optional<std::string> agent;
  std::optional<std::string> revoked;
  std::optional<std::string> preferred;  ///< authentication methods
  std::optional<std::string> canonical;  ///< set if canonical names are requested; the line of the setting
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

/// Adds the setting of a line; the first value of a setting wins. Returns an Error for a line that ssh refuses.
Result<void> take_line(HostSettings& into, const ConfigLine& line);

}  // namespace dlaunch::transport::ssh
