// The program from main to exit code: creates and connects every long-lived object. No other code of the launcher's
// thread catches exceptions.
#pragma once

namespace dlaunch::app {

/// The end of this process.
struct End {
  End(int code = 0, int by = 0) : exit_code(code), signal(by) {}  // NOLINT: most functions end with a code

  int exit_code;
  /// The user's signal that ended the job, if a shell must see it: a loop of a shell and `make` stop only if the
  /// program died of SIGINT. 0: no signal.
  int signal;
};

End run(int argc, char** argv);

}  // namespace dlaunch::app
