#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_texts.h"
#include "base/text.h"
#include "report/rank_groups.h"
#include "report/summary.h"

namespace dlaunch::report {
namespace {

/// "run python3 train.py" for the name of a script, else an empty text.
std::string interpreter_hint(std::string_view program) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kInterpreters{
      {{".py", "python3"}, {".sh", "sh"}, {".pl", "perl"}, {".R", "Rscript"}, {".jl", "julia"}, {".rb", "ruby"}}};
  const auto known =
      std::ranges::find_if(kInterpreters, [&](const auto& each) { return program.ends_with(each.first); });
  return known == kInterpreters.end() ? "" : "run " + std::string(known->second) + ' ' + shell_quote(program);
}

/// The hint for a program name that is a shell command: 'echo a | tr a b'. A '/' in the first word means a path.
std::string shell_hint(std::string_view program) {
  if (program.find_first_of(" \t\n|&;<>()$`*?") == std::string_view::npos) return {};
  if (program.substr(0, program.find_first_of(" \t\n")).find('/') != std::string_view::npos) return {};
  return "run the command in a shell: sh -c " + shell_quote(program);
}

/// The hint for a program name that starts with a dash of a word processor: U+2013, U+2014 or U+2212.
std::string dash_hint(std::string_view program) {
  constexpr std::array<std::string_view, 3> kDashes{"\u2013", "\u2014", "\u2212"};
  std::string_view name = program;
  for (bool again = true; again;) {
    const auto dash = std::ranges::find_if(kDashes, [&](std::string_view each) { return name.starts_with(each); });
    again = dash != kDashes.end();
    if (again) name.remove_prefix(dash->size());
  }
  if (name.size() == program.size()) return {};
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return (name.size() == 1 ? "use an ASCII dash: -" : "use two ASCII dashes: --") + std::string(name);
}

/// The hint for the name of a subcommand, or for a typing error in a name.
std::string subcommand_hint(std::string_view program, const std::vector<std::string>& subcommands) {
  const auto near = nearest(program, subcommands);
  if (!near) return {};
  if (*near == program) return "put the subcommand first: dlaunch " + *near;
  return "use dlaunch " + *near + " for the subcommand; for a program, check its name and PATH";
}

/// The hint for an output file of the rank.
std::string output_hint(int error) {
  if (error == EACCES || error == EPERM || error == EROFS) return "use a directory that you may write to";
  return "check the directory of the output file on the rank's host";
}

std::string not_found_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path,
                           const std::vector<std::string>& subcommands) {
  if (std::string hint = dash_hint(program); !hint.empty()) return hint;
  if (std::string hint = shell_hint(program); !hint.empty()) return hint;
  if (program.find('/') == std::string_view::npos) {
    if (std::string hint = interpreter_hint(program); !hint.empty()) return hint;
    if (std::string hint = subcommand_hint(program, subcommands); !hint.empty()) return hint;
    const std::string dotted = shell_quote("./" + std::string(program));
    if (!has_path) return "give the program's path, or pass PATH with -x PATH: the ranks have no PATH";
    if (status.what.ends_with(std::string(kInWorkingDirectory).append(program))) {
      return "run " + dotted + ": the program is in the working directory, which is not in PATH";
    }
    return "check the name and PATH; write " + dotted + " for a program in the working directory";
  }
  if (program.front() != '/') {
    return "check the path: a relative path starts in the working directory " + shell_quote(wdir) +
           "; set another with --wdir";
  }
  return "check the path on the rank's host";
}

std::string not_executable_hint(std::string_view program) {
  const std::string file = shell_quote(program);
  const std::string interpreter = interpreter_hint(program);
  if (interpreter.empty()) return "run chmod +x " + file + ", or start the file with its interpreter: python3 FILE";
  return interpreter + ", or make it executable: chmod +x " + file;
}

}  // namespace

std::string not_started_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path,
                             const std::vector<std::string>& subcommands) {
  if (is_missing_interpreter(status)) {
    return "check the interpreter (#!) and the line end (LF) in the first line of a script, "
           "or the dynamic loader of a binary";
  }
  if (status.what.starts_with(kCannotEnterWorkingDirectory)) {
    return "check that the directory exists on the rank's host and that you may enter it; set another with --wdir";
  }
  if (status.what.starts_with(kCannotEnter)) return "check the permissions of the directory on the rank's host";
  if (status.what.starts_with("cannot open the rank's std") && status.error != EMFILE && status.error != ENFILE) {
    return output_hint(status.error);
  }
  switch (status.error) {
    case ENOENT:
    case ENOTDIR:
      return not_found_hint(status, program, wdir, has_path, subcommands);
    case EACCES:
      return not_executable_hint(program);
    case ENOEXEC:
      return "add a first line such as #!/bin/sh to a script; check a binary's CPU type";
    case E2BIG:
      return "give fewer or shorter arguments and variables, or put them into a file";
    case EMFILE:
    case ENFILE:
      return "set a higher limit of open files: ulimit -n";
    case EAGAIN:
      return "set a higher limit of processes: ulimit -u, or pids.max of the cgroup";
    case ENOMEM:
      return "start fewer ranks on the host: its memory is used up";
    default:
      return {};
  }
}

}  // namespace dlaunch::report
