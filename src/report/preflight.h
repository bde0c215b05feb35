// What `dlaunch check` found, as a table, as JSON, and as advice. PURE: values in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace dlaunch::report {

inline constexpr double kClockTolerance = 1.0;  ///< seconds that a clock may be wrong

/// A directory, program or script that should be on a host.
struct CheckedThing {
  std::string name;       ///< as asked for
  std::string found;      ///< its path; for a directory, the one asked for
  std::string trouble;    ///< why it cannot be used; empty: it can
  std::string hint = {};  ///< advice; empty: the usual one for such a thing
};

struct CheckedHost {
  std::string name;
  std::string lost;  ///< the phase and the cause why it cannot be used; empty: it was reached, and the rest is set
  std::string hint;
  std::string kernel_name;  ///< uname's nodename
  std::string identity;     ///< equal for two names of one host
  std::string agent_version;
  int cpus = 0;
  std::string cpus_from;
  std::string device_kind;
  std::vector<int> devices;
  double clock_offset = 0;                 ///< seconds; ahead of ours when positive
  double clock_error = 0;                  ///< uncertainty of clock_offset
  std::optional<std::int64_t> shm_free;    ///< bytes; none: no /dev/shm
  std::optional<std::int64_t> open_files;  ///< none: no limit
  std::vector<CheckedThing> directories;
  std::vector<CheckedThing> programs;
  std::vector<CheckedThing> scripts;  ///< those that the programs read, without those whose directory is missing
  std::vector<std::string>
      addresses;  ///< the addresses that it resolves each host's name to, in the hosts' order; empty: unknown to it
  std::string unresolved;  ///< why some names could not be looked up; empty: all were
};

struct Preflight {
  std::vector<CheckedHost> hosts;
  Duration elapsed{};
};

/// A remark or a fault that all of these hosts share.
struct Finding {
  std::vector<std::string> hosts;
  std::string what;
  std::string hint;
  bool fatal = true;  ///< false: the job may run all the same
};

/// All findings, except hosts that could not be reached.
std::vector<Finding> findings(const Preflight& preflight);

/// 0: all is well; kExitHostLost: a host could not be reached; 1: another fatal finding.
int exit_code(const Preflight& preflight);

/// A row for each host; when there are many, hosts with equal rows share one.
std::string to_table(const Preflight& preflight);

/// Lines for stderr; empty when there is no finding.
std::string findings_text(const Preflight& preflight);

std::string to_json(const Preflight& preflight);

}  // namespace dlaunch::report
