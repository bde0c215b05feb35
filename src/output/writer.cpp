#include "output/writer.h"

#include <cerrno>
#include <cstring>

namespace dlaunch::output {

namespace {

std::string hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or write elsewhere with --output-filename";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a directory that you may write to";
    case ENOTDIR:
    case EEXIST:
      return "a file is where a directory must be: move it away or choose another name";
    case EISDIR:
      return "a directory is where the file must be: move it away or choose another name";
    case EPIPE:
      return "its reader ended early";
    default:
      return "check that file system, or write elsewhere with --output-filename";
  }
}

}  // namespace

Error sink_error(const std::string& what, int error) {
  return {.where = "", .what = "cannot " + what, .why = std::strerror(error), .hint = hint_for(error)};
}

}  // namespace dlaunch::output
