// The conditions of an ssh configuration's Match lines. PURE.
#pragma once

#include <string>

#include "dlaunch/error.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {

/// Unknown: only ssh itself can tell.
enum class Holds { no, unknown, yes };

/// Whom a line is held against.
struct MatchSubject {
  std::string host;  ///< its HostName, as far as that is settled
  std::string original_host;
  std::string user;
  std::string local_user;
  bool final_pass = false;  ///< the second look, which `Match final` asks for
};

struct MatchVerdict {
  Holds holds = Holds::yes;
  bool wants_final_pass = false;
  std::string unknown = {};    ///< the criterion that only ssh can judge
  bool host_specific = false;  ///< and that it may judge differently for each host
};
Result<MatchVerdict> match_line(const ConfigLine& line, const MatchSubject& subject);

}  // namespace dlaunch::transport::ssh
