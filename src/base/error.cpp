#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "dlaunch/error.h"
#include "dlaunch/exit_status.h"

namespace dlaunch {

std::string to_text(const Error& error) {
  std::string text = "dlaunch";
  std::string why;
  for (const std::string& line : split(trim(error.why), '\n')) why += (why.empty() ? "" : "\n  ") + line;
  for (const std::string& part : {error.where, error.what, why}) {
    if (!part.empty()) text += ": " + part;
  }
  if (!error.hint.empty()) text += "\ndlaunch:   " + error.hint;
  std::string shown;
  for (const std::string& line : split(text, '\n')) shown += escaped(line) + '\n';
  return shown;
}

namespace {

constexpr int kNotAsMpiWants = 1;  // a failure without its own code; mpirun of Open MPI also exits with 1

struct ShellCode {
  int operator()(const Exited& e) const { return e.code; }
  int operator()(const Signaled& s) const { return kSignalBase + s.signal; }
  int operator()(const NotStarted& n) const { return n.error == ENOENT ? kExitNotFound : kExitNotExecutable; }
  int operator()(const Lost&) const { return kExitHostLost; }
  int operator()(const Aborted& a) const { return a.code != 0 ? a.code : kNotAsMpiWants; }
  int operator()(const LeftMpi&) const { return kNotAsMpiWants; }
};

struct Describe {
  std::string operator()(const Exited& e) const { return "exited with code " + std::to_string(e.code); }
  std::string operator()(const Signaled& s) const {
    std::string text = "killed by signal " + std::to_string(s.signal) + " (" + signal_name(s.signal) + ")";
    if (s.core_dumped) text += ", core dumped";
    if (s.out_of_memory) text += kOutOfMemory;
    return text;
  }
  std::string operator()(const NotStarted& n) const {
    return "did not start: " + n.what + (n.error == 0 ? "" : std::string(": ") + std::strerror(n.error));
  }
  std::string operator()(const Lost& l) const { return "lost: " + l.why; }
  std::string operator()(const Aborted& a) const { return "called MPI_Abort with code " + std::to_string(a.code); }
  std::string operator()(const LeftMpi&) const { return "exited with code 0 after MPI_Init and without MPI_Finalize"; }
};

}  // namespace

ExitStatus ExitStatus::from_wait(int wait_status) {
  if (WIFSIGNALED(wait_status)) return Value(Signaled{WTERMSIG(wait_status), WCOREDUMP(wait_status) != 0, false});
  return Value(Exited{WEXITSTATUS(wait_status)});
}

int ExitStatus::shell_code() const { return std::visit(ShellCode{}, value_); }
std::string ExitStatus::describe() const { return std::visit(Describe{}, value_); }

std::string signal_name(int signal) {
  if (const char* name = sigabbrev_np(signal)) return std::string("SIG") + name;
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    return signal == SIGRTMIN ? "SIGRTMIN" : "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  }
  return "signal " + std::to_string(signal);
}

}  // namespace dlaunch
