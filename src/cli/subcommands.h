// The words after `dlaunch chaos` and `dlaunch stacks`. Pure, except that --plan reads a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chaos/verdict.h"
#include "cli/option_parser.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct ChaosHelp {
  std::string text;
};

/// `dlaunch chaos link ...`: the launcher under test starts one per link.
struct ChaosLink {
  std::vector<std::string> words;
};

struct ChaosRun {
  std::vector<chaos::Fault> faults = {};
  std::optional<std::uint64_t> seed = {};
  chaos::Expectations expected = {};
  std::string report = {};              ///< --report, as typed; empty: no report
  std::string junit = {};               ///< --junit
  std::vector<std::string> words = {};  ///< options and program of the job
};

using ChaosCommand = std::variant<ChaosHelp, ChaosLink, ChaosRun>;

/// The options of the command; they set members of `run`, which must outlive the result.
CommandSpec chaos_command(ChaosRun& run);
Result<ChaosCommand> parse_chaos(const std::vector<std::string>& args);

struct StacksCommand {
  std::string help = {};                ///< not empty: print this text only
  std::vector<std::string> words = {};  ///< as typed; empty: list the jobs of this machine
  bool all = false;                     ///< all threads
};

/// Returns the process id in `word`; nullopt if `word` is a job id.
std::optional<int> process_of(const std::string& word);

CommandSpec stacks_command(StacksCommand& command);
Result<StacksCommand> parse_stacks(const std::vector<std::string>& args);

}  // namespace dlaunch::cli
