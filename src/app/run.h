// The program from main to exit code: creates and connects every long-lived object. No other code of the launcher's
// thread catches exceptions.
#pragma once

namespace dlaunch::app {

int run(int argc, char** argv);

}  // namespace dlaunch::app
