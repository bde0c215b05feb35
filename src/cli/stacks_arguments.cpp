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
      .what = "what the ranks of running jobs, or processes of this machine with their descendants, do now",
      .options = {{{.names = "all", .help = "all threads, not only the main one"}, set_all}},
      .operands = &command.words,
      .notes =
          "A JOB is the id in its ranks' DLAUNCH_JOB_ID; without a word the jobs of this machine are listed.\n"
          "Nothing is put into a process, and none is stopped. A process of another user takes root.\n"
          "Exit codes: 0 all are printed; 1 a process is not there; 2 wrong usage, or no such job."};
  if (args.empty()) return command;
  const auto chosen = TRY(parse_command(spec, "dlaunch stacks", args));
  if (chosen.help) command.help = help_text(*chosen.command, chosen.path);
  return command;
}

std::optional<int> process_of(const std::string& word) {
  constexpr std::size_t kMostDigits = 10;  // a job's id has more characters
  if (word.size() > kMostDigits) return std::nullopt;
  const auto pid = parse_int(word, 1, 1 << 30);
  return pid ? std::optional(static_cast<int>(*pid)) : std::nullopt;
}

}  // namespace dlaunch::cli
