// Makes a rank's file where its directories need not be there yet.
#pragma once

#include <string>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Opens a file of that name for writing, without waiting; makes it, and the directories that it is in, where they are
/// not there. Empty with errno: ENXIO of a FIFO without a reader.
Fd create_file(const std::string& path, int more_flags = 0);

}  // namespace dlaunch::sys
