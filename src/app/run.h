// The program from main to exit code: creates and connects every long-lived object. Contains the launcher thread's only
// catch.
#pragma once

namespace dlaunch::app {

int run(int argc, char** argv);

}  // namespace dlaunch::app
