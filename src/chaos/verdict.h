// Checks the promises of dlaunch: the faults and the observations of a job go in, verdicts come out. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/fault.h"
#include "dlaunch/error.h"
#include "dlaunch/outcome.h"

namespace dlaunch::chaos {

/// The result of a planned fault.
struct Injection {
  Fault fault;  ///< with the real target instead of `any`
  bool fired = false;
  double at_s = 0;             ///< time after the start of all ranks of the first round
  int round = 0;               ///< round of the fault
  std::vector<int> pids = {};  ///< signalled processes
  std::string host = {};       ///< host of the rank, agent or link
  bool without_ranks = false;  ///< a spare host: without ranks
  std::string why_not = {};    ///< the reason why it did not fire
};

/// The end of a round.
struct RoundEnd {
  job::Cause cause = job::Cause::success;
  std::optional<int> first_failure = {};  ///< a rank
  std::string text = {};                  ///< dlaunch's text about the rank
};

/// The observations of a job. `rounds` is empty without a record: the job never ran, or its launcher was killed.
struct Seen {
  int exit_code = 0;                      ///< as in a shell
  std::optional<int> recorded_code = {};  ///< from the record
  std::vector<RoundEnd> rounds = {};      ///< the last one is the end of the job
  int restarts_allowed = 0;
  std::vector<std::string> left = {};  ///< leftover processes and files of the job, some time after its end
};

/// --expect: the required values.
using Expectations = std::map<std::string, std::string>;

/// "restarts=1,code=0,first=3". `where` of an Error is empty.
Result<Expectations> parse_expectations(std::string_view text);

struct Check {
  std::string name;    ///< "nothing is left"
  std::string broken;  ///< the observation; empty: the check passed
};

std::vector<Check> judge(const std::vector<Injection>& injections, const Seen& seen, const Expectations& expected);

/// Returns true if every planned fault fired.
bool all_fired(const std::vector<Injection>& injections);

// The results of a chaos run for programs, and the plan in them. PURE.

struct Results {
  std::uint64_t seed = 0;
  std::vector<std::string> command = {};
  std::vector<Injection> injections = {};
  std::vector<Check> checks = {};
  int exit_code = 0;  ///< end of the chaos run
  int job_code = 0;   ///< of the job
  double seconds = 0;
};

std::string to_json(const Results& results);
std::string to_junit(const Results& results);

/// The faults of a plan: the JSON of earlier results, or text with one fault per line, in which # starts a comment.
/// `name` is the name of the file, for errors.
Result<std::vector<Fault>> read_plan(std::string_view text, const std::string& name);

}  // namespace dlaunch::chaos
