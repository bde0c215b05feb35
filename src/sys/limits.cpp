#include "sys/limits.h"

#include "sys/io.h"

namespace dlaunch::sys {

rlimit raise_open_files() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) throw_errno("setrlimit(RLIMIT_NOFILE)");
  return before;
}

rlim_t open_files_limit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  return now.rlim_cur;
}

}  // namespace dlaunch::sys
