// What this process does with signals.
#pragma once

namespace dlaunch::sys {

/// Whoever started us may have it so, and then it is to stay so: nohup, and `dlaunch … &` in a script.
bool is_ignored(int signal);

}  // namespace dlaunch::sys
