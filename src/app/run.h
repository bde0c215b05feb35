// From main to exit code: builds every long-lived object once and wires them. The launcher thread's one catch is here.
#pragma once

namespace dlaunch::app {

int run(int argc, char** argv);

}  // namespace dlaunch::app
