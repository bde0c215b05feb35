#include "job/preemption.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "dlaunch/exit_status.h"

namespace dlaunch::job {

std::string describe(const Preempted& notice) {
  const std::string sender = notice.sender ? " from pid " + std::to_string(*notice.sender) : "";
  return signal_name(notice.signal) + (notice.at_host ? " to an agent" : sender);
}

bool Preemption::announced_by(int signal) const {
  return policy_.checkpoint.signal != 0 && (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGTERM);
}

Time Preemption::first_deadline(int signal, Time now) const {
  const Checkpoint& checkpoint = policy_.checkpoint;
  if (checkpoint.grace) return now + *checkpoint.grace;
  const std::chrono::milliseconds most = signal == SIGTERM ? kTermGrace : std::chrono::milliseconds::max();
  const Time usual = now + std::min(checkpoint.usual_grace, most);
  const auto& end = checkpoint.job_end;
  if (!end || *end <= now || *end - now >= kEndIsNear) return usual;
  return signal == SIGTERM ? std::min(*end, usual) : *end;
}

Preemption::Step Preemption::notify(const Preempted& notice, Time now) {
  const auto term_before = last_term_;
  if (notice.signal == SIGTERM) last_term_ = now;
  if (!notice_) {
    notice_ = notice;
    since_ = now;
    deadline_ = first_deadline(notice.signal, now);
    if (may_reach_ranks(notice)) ask_at_ = std::min(now + kOthersTold, *deadline_);
    return Step::begin;
  }
  if (notice.signal != SIGTERM) return Step::none;
  if (term_before && now - *term_before < kSameNotice) {
    return policy_.checkpoint.at_terminal && !notice.at_host ? Step::kill : Step::none;
  }
  if (deadline_) deadline_ = std::min(*deadline_, now + policy_.grace);
  return Step::none;
}

bool Preemption::may_reach_ranks(const Preempted& notice) const {
  const Checkpoint& checkpoint = policy_.checkpoint;
  return checkpoint.by_step && notice.signal == checkpoint.signal && (notice.at_host || notice.signal == SIGTERM);
}

void Preemption::add_signalled(int host, int signal) {
  if (policy_.checkpoint.by_step && signal == policy_.checkpoint.signal) signalled_.insert(host);
}

std::set<int> Preemption::take_signalled() {
  ask_at_.reset();
  return signalled_;
}

void Preemption::over(Time now) {
  ask_at_.reset();
  if (!std::exchange(deadline_, {})) return;
  notice_->used = std::chrono::duration_cast<std::chrono::milliseconds>(now - *since_);
}

}  // namespace dlaunch::job
