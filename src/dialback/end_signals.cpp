#include "dialback/end_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/end_signals.h"
#include "dlaunch/exit_status.h"
#include "sys/io.h"

namespace dlaunch::dialback {

EndSignals::EndSignals() {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int signal : kEndSignals) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::sigaddset(&awaited, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &awaited, &before_);
  fd_.reset(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) sys::throw_errno("signalfd");
}

EndSignals::~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> EndSignals::came() {
  if (!came_) came_ = next();
  return came_;
}

std::optional<int> EndSignals::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

Error interrupted_by(int signal) {
  return {"", "interrupted by " + signal_name(signal), "no rank was started", "", kSignalBase + signal};
}

}  // namespace dlaunch::dialback
