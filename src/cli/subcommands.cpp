#include "cli/subcommands.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/help.h"
#include "cli/option_parser.h"

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
  if (!seed) {
    return fail({"", "invalid number \"" + given.value + "\": expected 0 to " + std::to_string(kLargestSeed), "", ""});
  }
  run.seed = static_cast<std::uint64_t>(*seed);
  return {};
}

Result<void> set_expected(const ParsedOption& given, ChaosRun& run) {
  auto expected = TRY(chaos::parse_expectations(given.value));
  run.expected.merge(expected);
  return {};
}

}  // namespace

CommandSpec chaos_command(ChaosRun& run) {
  const auto text_into = [](std::string& into) {
    return [&into](const ParsedOption& given) -> Result<void> {
      into = given.value;
      return {};
    };
  };
  return {
      .name = "chaos",
      .usage = "--fault FAULT... [options] -- [options of dlaunch] program [args]",
      .what = "run a job, inject faults, and check that dlaunch recovers as documented",
      .options = {chaos_option("fault", "FAULT", "inject this fault: KIND:TARGET@WHEN[+TIME]; repeatable",
                               [&run](const ParsedOption& given) { return add_fault(given, run); }),
                  chaos_option("plan", "FILE", "inject the faults in FILE: one per line, or a file that --report wrote",
                               [&run](const ParsedOption& given) { return add_plan(given, run); }),
                  chaos_option("seed", "N",
                               "random seed for the targets rank=any, agent=any and cut:any; 0 to 1000000000",
                               [&run](const ParsedOption& given) { return set_seed(given, run); }),
                  chaos_option("expect", "KEY=VALUE,...",
                               "also check restarts, exit code and first failed rank: restarts=1,code=0,first=3",
                               [&run](const ParsedOption& given) { return set_expected(given, run); }),
                  chaos_option("report", "FILE", "write the faults and the results of the checks to FILE as JSON",
                               text_into(run.report)),
                  chaos_option("junit", "FILE", "write the results of the checks to FILE as JUnit XML",
                               text_into(run.junit))},
      .notes =
          "Use --fake-hosts to run the job on simulated hosts; root and ssh are not needed.\n\n"
          "Faults:\n"
          "  kill:rank=3@10s                 send SIGKILL to rank 3 after 10 s; also agent=HOST, launcher\n"
          "  stop:rank=1@5s+2s               send SIGSTOP to rank 1, and SIGCONT 2 s later; also agent=HOST\n"
          "  signal:TERM:launcher@8s         send a signal to the launcher; also rank=N, agent=HOST\n"
          "  cut:fake2@line:/step 50/+30s    block the link of fake2 for 30 s after the output \"step 50\"\n"
          "  reset:fake2@10s                 close the link of fake2\n"
          "  slow:fake2=1MB/s@0s             limit the link of fake2 to 1 MB/s\n"
          "  cut:net=eth1@10s+30s            set interface eth1 of this machine down for 30 s; also slow:net=\n"
          "  full:output@1MiB                limit each output file to 1 MiB, like a full disk\n"
          "WHEN:\n"
          "  10s                             10 s after the start of all ranks\n"
          "  round=1:3s                      3 s after the start of all ranks in round 1, the first restart\n"
          "  line:/RE/                       after an output line that matches the regular expression RE\n"
          "  line:/RE/#3                     after the third matching line\n\n"
          "Output on stderr:\n"
          "  one line per injected fault: time, fault, target and process ids\n"
          "  one line per failed check\n"
          "  a summary: passed checks, exit code of the job, and seed\n\n"
          "Exit codes: 0 all checks passed; 1 a check failed; 2 the command line or the plan is not valid; 3 a fault "
          "was not injected.\n\n"
          "Example:\n"
          "  dlaunch chaos --fault kill:agent=fake2@5s --expect restarts=1,code=0 --\\\n"
          "    --fake-hosts 3x2 -n 4 --spares 1 --restarts 3 python3 train.py\n\n"
          "docs/test-recovery.md has all faults and checks. To run a program named chaos, use dlaunch -- chaos."};
}

namespace {

Result<void> check_run(const ChaosRun& run) {
  if (run.faults.empty()) {
    return fail({"chaos", "missing --fault", "", "add --fault kill:rank=0@1s, or --plan FILE"});
  }
  if (run.words.empty())
    return fail({"chaos", "missing job", "", "put the options and the program of the job after --"});
  const auto any = [](const chaos::Fault& fault) { return fault.target.any; };
  if (run.seed || std::ranges::none_of(run.faults, any)) return {};
  return fail({"", to_text(*std::ranges::find_if(run.faults, any)) + " requires --seed", "", "add --seed N"});
}

}  // namespace

Result<ChaosCommand> parse_chaos(const std::vector<std::string>& args) {
  if (!args.empty() && args.front() == "link") return ChaosLink{{args.begin() + 1, args.end()}};
  ChaosRun run;
  const CommandSpec spec = chaos_command(run);
  const auto end = std::ranges::find(args, "--");
  const auto chosen = TRY(parse_command(spec, "dlaunch chaos", {args.begin(), end}));
  if (chosen.help) return ChaosHelp{help_text(*chosen.command, chosen.path)};
  if (end != args.end()) run.words.assign(end + 1, args.end());
  const bool named = !run.words.empty() && (run.words.front() == "dlaunch" || run.words.front().ends_with("/dlaunch"));
  if (named) run.words.erase(run.words.begin());
  TRY(check_run(run));
  return run;
}

CommandSpec stacks_command(StacksCommand& command) {
  const auto set_all = [&command](const ParsedOption&) -> Result<void> {
    command.all = true;
    return {};
  };
  return {.name = "stacks",
          .usage = "[JOB|PID]... [--all]",
          .what = "print the stacks of a running job's ranks, or of processes with their descendants",
          .options = {{{.names = "all", .help = "print all threads, not only the main thread"}, set_all}},
          .operands = &command.words,
          .notes =
              "JOB is the value of DLAUNCH_JOB_ID in the ranks. Without an argument, dlaunch stacks prints the ids of "
              "your running jobs on this machine, one per line. For a JOB, dlaunch prints the ranks on all hosts.\n"
              "dlaunch does not stop or change a process. Processes of another user require root.\n\n"
              "Output of a job, one entry for each group of ranks with the same stack:\n"
              "  2 ranks: 0-1 (node1)    polling, 46.7 % CPU    ranks (hosts), state, CPU use\n"
              "      MPI_Recv (libmpi.so.40.30.4)               functions (file), innermost first\n"
              "Output of a process:\n"
              "  pid 3083: python3 train.py, 0.0 s CPU          process id, command, CPU time\n"
              "    thread main, blocked in futex_do_wait        thread, state\n"
              "      in_lock (/home/u/train.py:6)               functions (file), innermost first\n\n"
              "Exit codes: 0 everything was printed; 1 a process was not found; 2 wrong usage, or an unknown job.\n\n"
              "Examples:\n"
              "  dlaunch stacks\n"
              "  dlaunch stacks c14bb0055c156b25\n"
              "  dlaunch stacks --all 3083\n\n"
              "dlaunch help hangs explains the reports of hangs while a job runs.\n"
              "To run a program named stacks, use dlaunch -- stacks."};
}

Result<StacksCommand> parse_stacks(const std::vector<std::string>& args) {
  StacksCommand command;
  const CommandSpec spec = stacks_command(command);
  if (args.empty()) return command;
  const auto chosen = TRY(parse_command(spec, "dlaunch stacks", args));
  if (chosen.help) command.help = help_text(*chosen.command, chosen.path);
  return command;
}

std::optional<int> process_of(const std::string& word) {
  constexpr std::size_t kMostDigits = 10;  // job ids are longer
  if (word.size() > kMostDigits) return std::nullopt;
  const auto pid = parse_int(word, 1, 1 << 30);
  return pid ? std::optional(static_cast<int>(*pid)) : std::nullopt;
}

}  // namespace dlaunch::cli
