// The results of `dlaunch check --ascend` as a table, as JSON, and as advice. PURE: values in, text out.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

inline constexpr const char* kNetSuccess = "Success";

/// One device, and its connection to its peer.
struct CheckedDevice {
  long device = 0;
  std::string address = {};
  long peer = 0;
  std::string peer_address = {};  ///< empty: no peer, or a peer without an address
  std::string status = {};        ///< as hccn_tool prints it: kNetSuccess, "Fault", …; empty: see `trouble`
  std::string trouble = {};
};

struct NetHost {
  std::string name = {};
  std::string peer = {};     ///< the host of the devices' peers; empty: only one host
  std::string trouble = {};  ///< why the devices were not checked; empty: checked
  std::vector<CheckedDevice> devices = {};
};

struct NetCheck {
  std::vector<NetHost> hosts = {};
  std::vector<job::LostHost> lost = {};
  Duration elapsed{};
};

/// 0: every device connects to its peer; kExitHostLost: cannot connect to a host; 1: otherwise.
int exit_code(const NetCheck& check);

/// One row per host, one column per device.
std::string to_table(const NetCheck& check);

/// Lines for stderr; empty without a failure.
std::string findings_text(const NetCheck& check);

std::string to_json(const NetCheck& check);

}  // namespace dlaunch::report
