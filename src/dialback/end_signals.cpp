#include "dialback/end_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/end_signals.h"
#include "dlaunch/exit_status.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::dialback {
namespace {

std::vector<int> not_ignored(std::span<const int> signals) {
  std::vector<int> kept;
  std::ranges::copy_if(signals, std::back_inserter(kept), [](int signal) { return !sys::is_kept(signal); });
  return kept;
}

}  // namespace

CaughtSignals::CaughtSignals(std::span<const int> signals) {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int signal : signals) ::sigaddset(&awaited, signal);
  ::pthread_sigmask(SIG_BLOCK, &awaited, &before_);
  fd_.reset(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) sys::throw_errno("signalfd");
}

CaughtSignals::~CaughtSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> CaughtSignals::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

EndSignals::EndSignals() : caught_(not_ignored(kEndSignals)) {}

std::optional<int> EndSignals::came() {
  if (!came_) came_ = next();
  return came_;
}

Error interrupted_by(int signal) {
  return {"", "interrupted by " + signal_name(signal), "no rank was started", "", kSignalBase + signal};
}

}  // namespace dlaunch::dialback
