// The limit of open files: raised for us, given back to the ranks as it was.
#pragma once

#include <sys/resource.h>

namespace dlaunch::sys {

/// Raises the soft limit to the hard one. Returns what it was before.
rlimit raise_open_files();

/// How many descriptors may be open now.
rlim_t open_files_limit();

}  // namespace dlaunch::sys
