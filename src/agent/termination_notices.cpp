#include "agent/termination_notices.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "agent/guardian.h"
#include "sys/clock.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::seconds kAnswerWait{2};
constexpr std::chrono::milliseconds kDirectWait{200};
constexpr std::chrono::seconds kSameNotice{1};  // the guardian and the parent forward signals that also come directly

}  // namespace

TerminationNotices::TerminationNotices(asio::io_context& io, link::Link& link, const LauncherWatch& watch,
                                       Handlers handlers)
    : io_(io), link_(link), watch_(watch), handlers_(std::move(handlers)), answer_timer_(io) {}

void TerminationNotices::received(int signal) {
  signal < SIGRTMIN ? report(signal, true) : forwarded_by_guardian(signal - forwarded(0));
}

/// A batch system that signals all processes also signals this process in a moment.
void TerminationNotices::forwarded_by_guardian(int signal) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return report(signal, false);
  const auto [held, is_new] = held_warnings_.try_emplace(signal, io_);
  if (!is_new) return;
  held->second.expires_after(kDirectWait);
  held->second.async_wait([this, signal](asio::error_code) {
    held_warnings_.erase(signal);
    report(signal, false);
  });
}

/// The launcher answers at once. `direct`: not forwarded by the guardian.
void TerminationNotices::report(int signal, bool direct) {
  const bool at_once = signal != SIGUSR1 && signal != SIGUSR2;
  if (at_once && ::getppid() != guardian_) return handlers_.lost("its parent was killed" + handlers_.oom());
  if (at_once && !watch_.begun()) return handlers_.lost("the agent received a termination signal");
  auto& [before, known_direct] = reported_signals_[signal];
  const bool same = Clock::now() - before < kSameNotice && (known_direct || !direct);
  if (!watch_.begun() || finishing_ || same) return;
  before = Clock::now();
  known_direct = direct;
  link_.send(wire::TerminationNotice{static_cast<std::uint32_t>(signal), sys::wall_ns(), direct});
  link_.flush();
  if (!at_once) return;
  answer_timer_.expires_after(kAnswerWait);
  answer_timer_.async_wait([this, asked = Clock::now()](asio::error_code error) {
    if (!error && watch_.silent_since(asked))
      handlers_.lost("the agent received a termination signal, and the launcher does not answer");
  });
}

}  // namespace dlaunch::agent
