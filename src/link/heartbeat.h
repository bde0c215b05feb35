// The times at which to send a heartbeat and to consider the peer dead. PURE: time is a parameter.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace dlaunch::link {

class Heartbeat {
 public:
  static constexpr int kMisses = 3;

  Heartbeat(std::chrono::milliseconds interval, Time now) : interval_(interval), heard_(now), asked_(now) {}

  void heard(Time now) {
    heard_ = now;
    paused_ = false;
  }
  /// The peer announced silence until its next frame.
  void pause() { paused_ = true; }
  /// This process was stopped: the bytes that the peer sent meanwhile are still unread.
  void resumed(Time now) { heard_ = now; }
  /// Call once per interval. A much later call means that this process or its machine was stopped: then one more
  /// interval is allowed for reading the bytes of that time.
  bool dead(Time now) {
    if (now - asked_ > interval_ * 2) heard_ = std::max(heard_, now - interval_ * (kMisses - 1));
    asked_ = now;
    return !paused_ && now - heard_ > interval_ * kMisses;
  }
  /// The peer was silent since that time, without an announcement.
  bool silent_since(Time then) const { return !paused_ && heard_ <= then; }
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  std::chrono::milliseconds interval_;
  Time heard_;
  Time asked_;
  bool paused_ = false;
};

}  // namespace dlaunch::link
