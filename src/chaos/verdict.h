// Whether a job kept what dlaunch promises, by what was done to it and what was seen of it. PURE.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/fault.h"
#include "dlaunch/error.h"
#include "dlaunch/outcome.h"

namespace dlaunch::chaos {

/// What became of a planned fault.
struct Injection {
  Fault fault;  ///< with the target that was met, in place of `any`
  bool fired = false;
  double at_s = 0;             ///< since all ranks of the first round ran
  int round = 0;               ///< in which it fired
  std::vector<int> pids = {};  ///< that it met
  std::string host = {};       ///< of the rank, agent or link
  bool without_ranks = false;  ///< the host had none: a spare host
  std::string why_not = {};    ///< why it did not fire
};

/// How a round ended.
struct RoundEnd {
  job::Cause cause = job::Cause::success;
  std::optional<int> first_failure = {};  ///< a rank
  std::string text = {};                  ///< what dlaunch says of it
};

/// What was seen of the job. Without rounds there was no record: it never ran, or its launcher was killed.
struct Seen {
  int exit_code = 0;                      ///< as a shell says it
  std::optional<int> recorded_code = {};  ///< by the record
  std::vector<RoundEnd> rounds = {};      ///< the last one is the job's end
  int restarts_allowed = 0;
  std::vector<std::string> left = {};  ///< processes and files of the job, some time after its end
};

/// --expect: the values that must be found.
using Expectations = std::map<std::string, std::string>;

/// "restarts=1,code=0,first=3". An Error has no `where`.
Result<Expectations> parse_expectations(std::string_view text);

struct Check {
  std::string name;    ///< "nothing is left"
  std::string broken;  ///< what was seen instead; empty: it holds
};

std::vector<Check> judge(const std::vector<Injection>& injections, const Seen& seen, const Expectations& expected);

/// Whether every planned fault fired.
bool all_fired(const std::vector<Injection>& injections);

}  // namespace dlaunch::chaos
