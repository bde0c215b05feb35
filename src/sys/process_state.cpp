#include "sys/process_state.h"

#include <sys/prctl.h>

#include <atomic>
#include <cstddef>

#include "sys/inherited.h"

namespace dlaunch::sys {
namespace {

using Handler = void (*)(int);

/// The data of the signal handler: a handler does not get an object.
struct Seen {
  std::atomic<Handler> next = nullptr;
  std::atomic<int> sender = 0;
};
std::array<Seen, NSIG>& seen() {
  static std::array<Seen, NSIG> all;
  return all;
}
static_assert(std::atomic<Handler>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void note_sender(int signal, siginfo_t* info, void*) {
  Seen& of_signal = seen()[static_cast<std::size_t>(signal)];
  of_signal.sender = info->si_code == SI_USER || info->si_code == SI_QUEUE ? info->si_pid : 0;
  if (const Handler next = of_signal.next) next(signal);
}

}  // namespace

ProcessState::ProcessState() : open_files_(raise_open_files()) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper_);
  for (size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], nullptr, &actions_[i]);
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &on_broken_pipe_);
}

ProcessState::~ProcessState() {
  ::sigaction(SIGPIPE, &on_broken_pipe_, nullptr);
  for (size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], &actions_[i], nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, subreaper_);
  ::setrlimit(RLIMIT_NOFILE, &open_files_);
}

void SignalSenders::note() {
  struct sigaction noted{};  // of all signals of the loop
  Handler next = nullptr;
  for (const int signal : kJobSignals) {
    struct sigaction before{};
    if (!next) {
      ::sigaction(signal, nullptr, &before);
      if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) continue;
      noted = before;
      next = before.sa_handler;
      noted.sa_flags |= SA_SIGINFO;
      noted.sa_sigaction = note_sender;
    }
    seen()[static_cast<std::size_t>(signal)].next = next;
    ::sigaction(signal, &noted, &before);
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != next) ::sigaction(signal, &before, nullptr);
  }
}

std::optional<int> SignalSenders::last(int signal) {
  const int pid = seen()[static_cast<std::size_t>(signal)].sender;
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace dlaunch::sys
