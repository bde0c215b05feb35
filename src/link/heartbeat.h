// Signs of life on a link: Pings and their answers, the time at which a silent peer is dead, and the agent's lease.
// PURE: time is a parameter.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "wire/message.h"

namespace dlaunch::link {

/// Numbers the own Pings of a link, and records the answers of the peer. PURE: time is a parameter.
class Pings {
 public:
  /// The next Ping, sent now.
  wire::Ping next(Time now) {
    unanswered_.push_back(now);
    return {++number_, received_};
  }
  /// Answers the Pings received so far, and asks for no answer.
  wire::Ping acknowledgement() const { return {number_, received_}; }
  /// Whether the peer's Ping asks for an answer. Call before received().
  bool asks(const wire::Ping& ping) const { return ping.number > received_; }
  /// A Ping of the peer. Returns true if the Ping answers more Pings of this side. Ignores answers to unsent Pings.
  bool received(const wire::Ping& ping) {
    received_ = std::max(received_, ping.number);
    const std::uint64_t before = answered();
    if (ping.answered <= before || ping.answered > number_) return false;
    const auto further = static_cast<std::ptrdiff_t>(ping.answered - before);
    newest_answered_ = unanswered_[static_cast<size_t>(further) - 1];
    unanswered_.erase(unanswered_.begin(), unanswered_.begin() + further);
    return true;
  }

  std::uint64_t number() const { return number_; }  ///< of the newest own Ping; 0: none
  std::uint64_t answered() const { return number_ - unanswered_.size(); }
  /// The time at which the newest answered own Ping was sent.
  std::optional<Time> newest_answered() const { return newest_answered_; }
  /// The time at which the oldest own Ping without an answer was sent.
  std::optional<Time> oldest_unanswered() const {
    return unanswered_.empty() ? std::nullopt : std::optional(unanswered_.front());
  }

 private:
  std::uint64_t number_ = 0;
  std::uint64_t received_ = 0;
  std::deque<Time> unanswered_;  // send times
  std::optional<Time> newest_answered_;
};

/// A check that comes later than planned by more than this part of its interval is late: this process or its machine
/// was stopped or busy, and bytes of the peer may still be unread.
inline constexpr int kLatePart = 50;

/// How late a check is; 0: in time.
inline Duration lateness(Time planned, Time now, Duration interval) {
  const Duration late = now - planned;
  return late > interval / kLatePart ? late : Duration{};
}

class Heartbeat {
 public:
  static constexpr int kMisses = 3;

  /// `pause`: the peer may be stopped for this time; it is dead after kMisses intervals or this time, if longer.
  Heartbeat(std::chrono::milliseconds interval, Time now, std::chrono::milliseconds pause = {})
      : interval_(interval), patience_(std::max(interval * kMisses, pause)) {
    heard(now);
  }

  void heard(Time now) {
    deadline_ = now + patience_;
    extended_ = false;
  }
  /// The time of the next call of dead().
  Time deadline() const { return deadline_; }
  /// The peer is dead at the deadline. A late check allows up to one more interval, once per silence; again if the
  /// check is late by an interval.
  bool dead(Time now) {
    if (now < deadline_) return false;
    const Duration late = lateness(deadline_, now, interval_);
    if (late == Duration{} || (extended_ && late < interval_)) return true;
    extended_ = true;
    deadline_ = now + std::min<Duration>(interval_, late * kMisses);
    return false;
  }
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  std::chrono::milliseconds interval_;
  std::chrono::milliseconds patience_;
  Time deadline_;
  bool extended_ = false;
};

// The agent's permission to run ranks. PURE: time is a parameter. Owned by LauncherWatch (agent/launcher_watch.h).
//
// A lease begins with Setup. The lease ends one length after the agent sent the newest Ping with an answer of the
// launcher. The length is Setup's pause_limit_ms, or Layout's lease_ms. After Pause, the lease does not end before the
// pause limit; the next frame of the launcher reduces this time to one length. The launcher computes the same or a
// later end (launcher/host_link.h, gone_by()), and starts no rank of the host elsewhere before this end.

class Lease {
 public:
  static constexpr int kBeats = 4;  ///< the shortest lease, in heartbeats

  Lease(std::chrono::milliseconds heartbeat, std::chrono::milliseconds pause_limit, Time now)
      : limit_(std::max(pause_limit, heartbeat * kBeats)), length_(limit_), renewed_(now), heard_(now) {}

  /// 0: the pause limit.
  void set_length(std::chrono::milliseconds length) { length_ = length.count() == 0 ? limit_ : length; }

  wire::Ping next_ping(Time now) { return pings_.next(now); }
  /// Any frame of the launcher. Call before answered() and pause().
  void heard(Time now) {
    if (paused_until_) paused_until_ = std::min(*paused_until_, now + length_);
    paused_ = false;
    heard_ = now;
  }
  /// Whether the launcher's Ping asks for an answer. Call before answered().
  bool asks(const wire::Ping& ping) const { return pings_.asks(ping); }
  void answered(const wire::Ping& ping) {
    if (pings_.received(ping)) renewed_ = std::max(renewed_, *pings_.newest_answered());
  }
  void pause(Time now) {
    paused_until_ = now + limit_;
    paused_ = true;
  }

  Time end() const { return std::max(renewed_ + length_, paused_until_.value_or(renewed_)); }
  bool over(Time now) const { return now >= end(); }
  /// Whether the launcher sent no frame since that time, and did not announce the silence.
  bool silent_since(Time then) const { return !paused_ && heard_ <= then; }

 private:
  const std::chrono::milliseconds limit_;
  std::chrono::milliseconds length_;
  Pings pings_;
  Time renewed_;
  Time heard_;
  std::optional<Time> paused_until_;
  bool paused_ = false;
};

}  // namespace dlaunch::link
