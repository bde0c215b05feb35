// The conditions of Match lines in an ssh configuration. PURE.
#pragma once

#include <string>

#include "dlaunch/error.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {

/// unknown: only ssh itself can tell.
enum class Holds { no, unknown, yes };

/// The host that a line is matched against.
struct MatchSubject {
  std::string host;  ///< its HostName, as far as the configuration has set it
  std::string original_host;
  std::string user;
  std::string local_user;
  bool final_pass = false;  ///< the second pass, which `Match final` asks for
};

struct MatchVerdict {
  Holds holds = Holds::yes;
  bool wants_final_pass = false;
  std::string unknown = {};    ///< the criterion that only ssh can judge
  bool host_specific = false;  ///< ssh may judge it differently for each host
};
Result<MatchVerdict> match_line(const ConfigLine& line, const MatchSubject& subject);

}  // namespace dlaunch::transport::ssh
