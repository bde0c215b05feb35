// The process that writes the files: it creates, writes, closes and looks at them, one command after the other, until
// the pipe of commands ends. When it hangs in a command it is given up (output/disk.h).
#pragma once

#include "output/disk_protocol.h"

namespace dlaunch::output {

void run_disk_process(int commands, int news, DiskProgress& progress);

}  // namespace dlaunch::output
