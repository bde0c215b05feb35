// From main to exit code: builds every long-lived object, once, and wires them. The one catch of the launcher's thread.
#pragma once

namespace dlaunch::app {

int run(int argc, char** argv);

}  // namespace dlaunch::app
