// The time at which a silent peer is dead. PURE: time is a parameter.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace dlaunch::link {

class Heartbeat {
 public:
  static constexpr int kMisses = 3;
  /// A check that comes later than planned by more than this part of an interval is late: this process or its machine
  /// was stopped or busy, and bytes of the peer may still be unread.
  static constexpr int kLatePart = 50;

  Heartbeat(std::chrono::milliseconds interval, Time now) : interval_(interval) { heard(now); }

  void heard(Time now) {
    deadline_ = now + interval_ * kMisses;
    extended_ = false;
  }
  /// The time of the next call of dead().
  Time deadline() const { return deadline_; }
  /// The peer is dead at the deadline. A late check allows up to one more interval, once per silence; again if the
  /// check is late by an interval.
  bool dead(Time now) {
    if (now < deadline_) return false;
    const Duration late = now - deadline_;
    if (late <= interval_ / kLatePart || (extended_ && late < interval_)) return true;
    extended_ = true;
    deadline_ = now + std::min<Duration>(interval_, late * kMisses);
    return false;
  }
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  std::chrono::milliseconds interval_;
  Time deadline_;
  bool extended_ = false;
};

}  // namespace dlaunch::link
