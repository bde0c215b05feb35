#include "cli/stacks_arguments.h"

#include "base/text.h"
#include "base/try.h"
#include "cli/command_spec.h"
#include "cli/help.h"

namespace dlaunch::cli {

Result<StacksCommand> parse_stacks(const std::vector<std::string>& args) {
  StacksCommand command;
  const auto set_all = [&](const ParsedOption&) -> Result<void> {
    command.all = true;
    return {};
  };
  const CommandSpec spec{
      .name = "stacks",
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
