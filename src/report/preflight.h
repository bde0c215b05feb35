// The results of `dlaunch check` as a table, as JSON, and as advice. PURE: values in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

inline constexpr double kClockTolerance = 1.0;  ///< maximum error of a clock, in seconds

/// A directory, program or script that the job needs on a host.
struct CheckedThing {
  std::string name;       ///< as requested
  std::string found;      ///< path on the host; of a directory, as requested
  std::string trouble;    ///< why the thing cannot be used; empty: usable
  std::string hint = {};  ///< advice; empty: the default advice
};

struct CheckedHost {
  std::string name;
  std::string lost;  ///< phase and reason of a failed connection; empty: connected, and the other fields are set
  std::string hint;
  std::string kernel_name;  ///< nodename of uname(2)
  std::string identity;     ///< equal for two names of one host
  std::string agent_version;
  int cpus = 0;
  std::string cpus_from;
  std::string device_kind;
  std::vector<int> devices;
  double clock_offset = 0;                 ///< seconds; positive: ahead of the launcher's clock
  double clock_error = 0;                  ///< uncertainty of clock_offset
  std::optional<std::int64_t> shm_free;    ///< bytes; none: /dev/shm is missing
  std::optional<std::int64_t> open_files;  ///< none: unlimited
  std::vector<CheckedThing> directories;
  std::vector<CheckedThing> programs;
  std::vector<CheckedThing> scripts;  ///< read by the programs; without scripts in missing directories
  std::vector<std::string>
      addresses;  ///< of each host's name, as resolved on this host, in the order of the hosts; empty: unknown name
  std::string unresolved;  ///< why some names could not be resolved; empty: all resolved
};

struct Preflight {
  std::vector<CheckedHost> hosts;
  Duration elapsed{};
};

/// A note or an error about one or more hosts.
struct Finding {
  std::vector<std::string> hosts;
  std::string what;
  std::string hint;
  bool fatal = true;  ///< false: the job may still run
};

/// All findings, except hosts without a connection.
std::vector<Finding> findings(const Preflight& preflight);

/// 0: no fatal finding; kExitHostLost: cannot connect to a host; 1: another fatal finding.
int exit_code(const Preflight& preflight);

/// One row per host. In a long table, hosts with equal rows share one row.
std::string to_table(const Preflight& preflight);

/// Lines for stderr; empty without findings.
std::string findings_text(const Preflight& preflight);

std::string to_json(const Preflight& preflight);

// The results of `dlaunch check --ascend` as a table, as JSON, and as advice. PURE: values in, text out.

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
