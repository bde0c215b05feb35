#include "sys/caught_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "sys/io.h"

namespace dlaunch::sys {

CaughtSignals::CaughtSignals(std::span<const int> signals) {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int signal : signals) ::sigaddset(&awaited, signal);
  ::pthread_sigmask(SIG_BLOCK, &awaited, &before_);
  fd_.reset(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw_errno("signalfd");
}

/// Drops the signals that were not read: they would end this process now.
CaughtSignals::~CaughtSignals() {
  while (next()) {
  }
  release();
}

void CaughtSignals::release() {
  fd_.reset();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<CaughtSignal> CaughtSignals::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return CaughtSignal{static_cast<int>(info.ssi_signo), info.ssi_code > 0};
}

}  // namespace dlaunch::sys
