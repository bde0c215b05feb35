// What `dlaunch check` found, as a table, as JSON, and as what is to be done. PURE: values in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace dlaunch::report {

inline constexpr double kClockTolerance = 1.0;  ///< seconds that a clock may be wrong

/// Something that should be on a host.
struct CheckedThing {
  std::string name;       ///< as asked for
  std::string found;      ///< where it is; a directory is where it is asked for
  std::string trouble;    ///< why it is of no use; empty: it is there
  std::string hint = {};  ///< what to do then; empty: what is usual for such a thing
};

struct CheckedHost {
  std::string name;
  std::string lost;  ///< why it cannot be used: the phase and the cause; empty: it was reached, and all below holds
  std::string hint;
  std::string kernel_name;  ///< uname's nodename
  std::string identity;     ///< the same for two names of one host
  std::string agent_version;
  int cpus = 0;
  std::string cpus_from;
  std::string device_kind;
  std::vector<int> devices;
  double clock_offset = 0;                 ///< seconds; ahead of ours when positive
  double clock_error = 0;                  ///< give or take
  std::optional<std::int64_t> shm_free;    ///< bytes; none: no /dev/shm
  std::optional<std::int64_t> open_files;  ///< none: no limit
  std::vector<CheckedThing> directories;
  std::vector<CheckedThing> programs;
  std::vector<CheckedThing> scripts;  ///< that the programs are to read; one whose directory is missing is not here
  std::vector<std::string>
      addresses;           ///< what it takes the name of each host for, in their order; empty: unknown to it
  std::string unresolved;  ///< why some names could not be looked up; empty: all were
};

struct Preflight {
  std::vector<CheckedHost> hosts;
  Duration elapsed{};
};

/// Something to know or to mend, of all hosts that have it.
struct Finding {
  std::vector<std::string> hosts;
  std::string what;
  std::string hint;
  bool fatal = true;  ///< no: the job may run all the same
};

/// All but hosts that could not be reached.
std::vector<Finding> findings(const Preflight& preflight);

/// 0: all holds; kExitHostLost: a host could not be reached; 1: something else does not hold.
int exit_code(const Preflight& preflight);

/// One row a host; of many hosts, those with equal rows share one.
std::string to_table(const Preflight& preflight);

/// Lines for stderr; empty when all holds and there is nothing to note.
std::string findings_text(const Preflight& preflight);

std::string to_json(const Preflight& preflight);

}  // namespace dlaunch::report
