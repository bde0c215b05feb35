// The disk process: executes DiskCommands (create, write, close, …) one after the other, until the pipe of commands
// ends. Forked by Disk (output/disk.h); the launcher kills a process that hangs in a command.
#pragma once

#include "output/disk_protocol.h"

namespace dlaunch::output {

void run_disk_process(int commands, int events, DiskProgress& progress);

}  // namespace dlaunch::output
