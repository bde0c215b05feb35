#include "output/channel.h"

#include <cerrno>

#include "output/file_relay.h"
#include "sys/files.h"
#include "sys/held_directory.h"

namespace dlaunch::output {
namespace {

std::string hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "remove files there, or set another directory with --output-filename";
    case EMFILE:
      return "set a higher limit of open files: ulimit -n";
    case EACCES:
    case EPERM:
    case EROFS:
      return "use a directory that you may write to";
    case ENOTDIR:
    case EEXIST:
      return "use another name: a part of the path is a file, not a directory";
    case EISDIR:
      return "use another name: a directory has this name";
    case EBADF:
      return "use a descriptor that is open for writing when dlaunch starts";
    case ENXIO:
      return sys::kStartReader;
    case EPIPE:
      return "check the reader: it ended early";
    default:
      return "check the file system, or set another directory with --output-filename";
  }
}

}  // namespace

Error sink_error(const std::string& what, int error) {
  if (error == FileRelay::kKilled) {
    return {.where = "",
            .what = "cannot " + what,
            .why = "dlaunch's writer process was killed",
            .hint = "check dmesg: the kernel kills processes if memory is used up"};
  }
  return {.where = "",
          .what = "cannot " + what,
          .why = error == ENXIO ? sys::kNoReader : sys::why_not_opened(error),
          .hint = hint_for(error)};
}

}  // namespace dlaunch::output
