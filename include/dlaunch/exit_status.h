// The end of one rank. Only this class decodes wait statuses.
#pragma once

#include <string>
#include <variant>

namespace dlaunch {

struct Exited {
  int code = 0;  ///< 0…255
  bool operator==(const Exited&) const = default;
};
struct Signaled {
  int signal = 0;
  bool core_dumped = false;
  bool out_of_memory = false;  ///< the rank's cgroup counted an oom_kill while the rank ran
  bool operator==(const Signaled&) const = default;
};
struct NotStarted {
  int error = 0;     ///< errno of the failed step; 0: no system call failed, `what` has the reason
  std::string what;  ///< the step with its operand: "cannot execute ./a.out", "working directory /x"
  bool operator==(const NotStarted&) const = default;
};
struct Lost {
  std::string why;  ///< the reason why the host cannot report the end of the rank
  bool operator==(const Lost&) const = default;
};

/// The rank called MPI_Abort. The later end of its process does not change the status.
struct Aborted {
  int code = 0;  ///< 0…255
  bool operator==(const Aborted&) const = default;
};
/// The rank exited with 0 between MPI_Init and MPI_Finalize.
struct LeftMpi {
  bool operator==(const LeftMpi&) const = default;
};

class ExitStatus {
 public:
  using Value = std::variant<Exited, Signaled, NotStarted, Lost, Aborted, LeftMpi>;

  ExitStatus() = default;
  ExitStatus(Value value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): a value, as variant

  /// Decodes the status of wait4(2). The child must have ended: statuses of stopped or continued children are invalid.
  static ExitStatus from_wait(int wait_status);

  bool ok() const { return value_ == Value(Exited{0}); }

  /// The value of a shell's $?: the exit code of the rank; 128+signal; 127 if the program was not found; 126 if the
  /// rank did not start for another reason; 125 if the rank was lost; the code of MPI_Abort, or 1 if this code is 0; 1
  /// if the rank did not call MPI_Finalize.
  int shell_code() const;

  /// The text for people: "exited with code 3", "killed by signal 11 (SIGSEGV), core dumped", "did not start: ./a.out:
  /// …".
  std::string describe() const;

  const Value& value() const { return value_; }
  bool operator==(const ExitStatus&) const = default;

 private:
  Value value_ = Exited{0};
};

/// "SIGKILL" for 9, "SIGRTMIN+3" for a real-time signal, "signal 99" for a number without a name.
std::string signal_name(int signal);

}  // namespace dlaunch
