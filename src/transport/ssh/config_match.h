// The conditions of Match lines in an ssh configuration. PURE.
#pragma once

#include <string>

#include "dlaunch/error.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {

/// `unknown`: only ssh can evaluate the condition.
enum class Holds { no, unknown, yes };

/// The host to compare with a line.
struct MatchSubject {
  std::string host;  ///< its HostName, if set so far
  std::string original_host;
  std::string user;
  std::string local_user;
  bool final_pass = false;  ///< true in the second pass, requested by `Match final`
};

struct MatchVerdict {
  Holds holds = Holds::yes;
  bool wants_final_pass = false;
  std::string unknown = {};    ///< the criterion that only ssh can evaluate
  bool host_specific = false;  ///< ssh's result may differ between hosts
};
Result<MatchVerdict> match_line(const ConfigLine& line, const MatchSubject& subject);

}  // namespace dlaunch::transport::ssh
