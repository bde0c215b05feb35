#include <cerrno>
#include <string>
#include <utility>

#include "base/text.h"
#include "report/summary.h"

namespace dlaunch::report {
namespace {

/// Returns "run python3 train.py" for the name of a script, or an empty text.
std::string interpreter_hint(std::string_view program) {
  constexpr std::pair<std::string_view, std::string_view> kInterpreters[] = {
      {".py", "python3"}, {".sh", "sh"}, {".pl", "perl"}, {".jl", "julia"}, {".R", "Rscript"}, {".rb", "ruby"}};
  for (const auto& [ending, interpreter] : kInterpreters) {
    if (program.ends_with(ending)) return "run " + std::string(interpreter) + ' ' + shell_quote(program);
  }
  return {};
}

/// Returns a hint for a program name that is a shell command: 'echo a | tr a b'.
std::string shell_hint(std::string_view program) {
  if (program.find_first_of(" \t\n|&;<>()$`*?") == std::string_view::npos) return {};
  return "run the command in a shell: sh -c " + shell_quote(program);
}

std::string not_found_hint(std::string_view program, std::string_view wdir, bool has_path) {
  if (std::string hint = shell_hint(program); !hint.empty()) return hint;
  if (program.find('/') == std::string_view::npos) {
    if (std::string hint = interpreter_hint(program); !hint.empty()) return hint;
    const std::string dotted = "./" + std::string(program);
    if (!has_path) return "the ranks have no PATH: give the program's path, or pass one with -x PATH";
    return "it is in no directory of PATH; a program in the working directory is " + shell_quote(dotted);
  }
  if (program.front() != '/')
    return "the path is taken from the working directory " + shell_quote(wdir) + "; -wdir sets another";
  return "it must exist on the rank's host";
}

}  // namespace

std::string not_started_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path) {
  if (status.what.find("working directory") != std::string::npos) {
    return "check that the directory exists on the rank's host and that you may enter it; -wdir sets another directory";
  }
  if (status.what.find("interpreter") != std::string::npos) {
    return "a script's first line (#!) names its interpreter, to its end: no Windows line ending; a binary needs its "
           "loader";
  }
  if (status.what.starts_with("cannot enter ")) return "check the permissions of the directory on the rank's host";
  switch (status.error) {
    case ENOENT:
    case ENOTDIR:
      return not_found_hint(program, wdir, has_path);
    case EACCES: {
      const std::string hint = interpreter_hint(program);
      return hint.empty() ? "make the file executable (chmod +x), or run its interpreter" : hint + ", or chmod +x";
    }
    case ENOEXEC:
      return "it is no program of this machine; a script needs a first line such as #!/bin/sh";
    case E2BIG:
      return "arguments and environment are too long together; pass less, or read them from a file";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files: ulimit -n";
    case EAGAIN:
      return "raise the limit of processes (ulimit -u, or pids.max of the cgroup)";
    case ENOMEM:
      return "the host has no memory left for another process";
    default:
      return {};
  }
}

}  // namespace dlaunch::report
