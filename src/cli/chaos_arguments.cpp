#include "cli/chaos_arguments.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/try.h"
#include "chaos/results.h"
#include "cli/command_spec.h"
#include "cli/files.h"
#include "cli/help.h"

namespace dlaunch::cli {
namespace {

using Taken = std::function<Result<void>(const ParsedOption&)>;

constexpr long kLargestSeed = 1'000'000'000;

CommandSpec::Option chaos_option(std::string_view name, std::string_view value_name, std::string_view help,
                                 Taken take) {
  return {{.names = name, .takes = Arity::value, .value_name = value_name, .help = help}, std::move(take)};
}

Result<void> add_fault(const ParsedOption& given, ChaosRun& run) {
  auto fault = TRY(chaos::parse_fault(given.value));
  run.faults.push_back(std::move(fault));
  return {};
}

Result<void> add_plan(const ParsedOption& given, ChaosRun& run) {
  const auto text = TRY(read_text(given.value));
  auto faults = TRY(chaos::read_plan(text, given.value));
  std::ranges::move(faults, std::back_inserter(run.faults));
  return {};
}

Result<void> set_seed(const ParsedOption& given, ChaosRun& run) {
  const auto seed = parse_int(given.value, 0, kLargestSeed);
  if (!seed) return fail({"", '"' + given.value + "\" is no number", "", "write --seed 7"});
  run.seed = static_cast<std::uint64_t>(*seed);
  return {};
}

Result<void> set_expected(const ParsedOption& given, ChaosRun& run) {
  auto expected = TRY(chaos::parse_expectations(given.value));
  run.expected.merge(expected);
  return {};
}

CommandSpec chaos_spec(ChaosRun& run) {
  const auto text_into = [](std::string& into) {
    return [&into](const ParsedOption& given) -> Result<void> {
      into = given.value;
      return {};
    };
  };
  return {.name = "chaos",
          .usage = "--fault WHAT:TARGET@WHEN[+FOR]... [options] -- [dlaunch's options] program",
          .what = "run a job, inject faults into it, and check that it keeps dlaunch's promises",
          .options = {chaos_option("fault", "FAULT",
                                   "kill:rank=3@10s, stop:rank=1@5s+2s, cut:fake2@line:/step 50/+30s, ...",
                                   [&run](const ParsedOption& given) { return add_fault(given, run); }),
                      chaos_option("plan", "FILE", "the faults of a file: an earlier --report, or a fault a line",
                                   [&run](const ParsedOption& given) { return add_plan(given, run); }),
                      chaos_option("seed", "N", "decides what rank=any and the like meet",
                                   [&run](const ParsedOption& given) { return set_seed(given, run); }),
                      chaos_option("expect", "KEY=VALUE,...", "what else must be found: restarts=1,code=0,first=3",
                                   [&run](const ParsedOption& given) { return set_expected(given, run); }),
                      chaos_option("report", "FILE", "write what was done and found, as JSON", text_into(run.report)),
                      chaos_option("junit", "FILE", "write the checks as JUnit's XML", text_into(run.junit))},
          .notes =
              "Exit codes: 0 all checks hold; 1 one does not; 2 the line or the plan is refused; 3 a fault did not "
              "meet the job.\ndocs/test-recovery.md has the grammar of faults."};
}

Result<void> check_run(const ChaosRun& run) {
  if (run.faults.empty()) {
    return fail({"chaos", "no fault is named", "", "add --fault kill:rank=0@1s, or what else shall happen"});
  }
  if (run.words.empty()) return fail({"chaos", "no job is named", "", "write the job's line after --"});
  const auto any = [](const chaos::Fault& fault) { return fault.target.any; };
  if (run.seed || std::ranges::none_of(run.faults, any)) return {};
  return fail({to_text(*std::ranges::find_if(run.faults, any)), "which one it meets was not said", "", "add --seed N"});
}

}  // namespace

Result<ChaosCommand> parse_chaos(const std::vector<std::string>& args) {
  if (!args.empty() && args.front() == "link") return ChaosLink{{args.begin() + 1, args.end()}};
  ChaosRun run;
  const CommandSpec spec = chaos_spec(run);
  const auto end = std::ranges::find(args, "--");
  const auto chosen = TRY(parse_command(spec, "dlaunch chaos", {args.begin(), end}));
  if (chosen.help) return ChaosHelp{help_text(*chosen.command, chosen.path)};
  if (end != args.end()) run.words.assign(end + 1, args.end());
  const bool named = !run.words.empty() && (run.words.front() == "dlaunch" || run.words.front().ends_with("/dlaunch"));
  if (named) run.words.erase(run.words.begin());
  TRY(check_run(run));
  return run;
}

}  // namespace dlaunch::cli
