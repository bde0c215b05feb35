#include "session/patience.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/end_signals.h"
#include "sys/inherited.h"
#include "sys/process_state.h"

namespace dlaunch::session {
namespace {

std::vector<int> signals_to_catch() {
  constexpr std::array kOfTerminal{SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};
  std::vector<int> signals;
  for (const int signal : sys::kJobSignals) {
    if (std::ranges::find(kOfTerminal, signal) == kOfTerminal.end() && !sys::is_kept(signal)) signals.push_back(signal);
  }
  return signals;
}

}  // namespace

int Patience::wait(std::span<pollfd> fds, Time deadline) {
  if (!caught_) caught_.emplace(signals_to_catch());
  std::vector<pollfd> all(fds.begin(), fds.end());
  all.push_back({caught_->fd(), POLLIN, 0});
  for (;;) {
    if (sys::poll_until(all, signal_ != 0 ? Clock::now() : std::min(deadline, until_)) < 0) return -1;
    while (const auto caught = caught_->next()) {
      seen_.push_back(caught->number);
      if (signal_ == 0 && is_end_signal(caught->number)) signal_ = caught->number;
    }
    std::copy_n(all.begin(), fds.size(), fds.begin());
    const auto ready = std::ranges::count_if(fds, [](const pollfd& fd) { return fd.revents != 0; });
    const Time now = Clock::now();
    over_ = ready == 0 && (signal_ != 0 || now >= until_);
    if (ready > 0 || over_ || now >= deadline) return static_cast<int>(ready);
  }
}

void Patience::release() {
  if (caught_) caught_->release();
  for (const int signal : seen_) ::raise(signal);
}

}  // namespace dlaunch::session
