#include <cerrno>
#include <string>

#include "base/text.h"
#include "report/summary.h"

namespace dlaunch::report {
namespace {

std::string not_found_hint(std::string_view program, std::string_view wdir, bool has_path) {
  if (program.find('/') == std::string_view::npos) {
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
    return "the directory must be there and open to you on the rank's host; -wdir sets another";
  }
  if (status.what.find("interpreter") != std::string::npos) {
    return "a script's first line (#!) names its interpreter, to its end: no Windows line ending; a binary needs its "
           "loader";
  }
  switch (status.error) {
    case ENOENT:
      return not_found_hint(program, wdir, has_path);
    case EACCES:
      return "make it executable (chmod +x), or run its interpreter: dlaunch … python3 FILE";
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
