// What `dlaunch check --ascend` found, as a table, as JSON, and as advice. PURE: values in, text out.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

inline constexpr const char* kNetSuccess = "Success";

/// One device, and whether it reaches its peer.
struct CheckedDevice {
  long device = 0;
  std::string address = {};
  long peer = 0;
  std::string peer_address = {};  ///< empty: it has no peer, or the peer no address
  std::string status = {};        ///< as hccn_tool says it: kNetSuccess, "Fault", …; empty: see `trouble`
  std::string trouble = {};
};

struct NetHost {
  std::string name = {};
  std::string peer = {};     ///< the host of its devices' peers; empty: there is no other host
  std::string trouble = {};  ///< why it was asked nothing; empty: it was asked
  std::vector<CheckedDevice> devices = {};
};

struct NetCheck {
  std::vector<NetHost> hosts = {};
  std::vector<job::LostHost> lost = {};
  Duration elapsed{};
};

/// 0: every device reaches its peer; kExitHostLost: a host could not be reached; 1: otherwise.
int exit_code(const NetCheck& check);

/// A row for each host, a column for each device.
std::string to_table(const NetCheck& check);

/// Lines for stderr; empty when all is well.
std::string findings_text(const NetCheck& check);

std::string to_json(const NetCheck& check);

}  // namespace dlaunch::report
