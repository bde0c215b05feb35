// When to send a heartbeat, and when to take the other side for dead. PURE: time is a parameter.
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
  /// The other side announced that it will be silent until its next frame.
  void pause() { paused_ = true; }
  /// This process was stopped: what the other side sent meanwhile has yet to be read.
  void resumed(Time now) { heard_ = now; }
  /// To be called once an interval. A much later call means that this process was stopped, by a signal or with its
  /// machine; it then gets an interval to read what was sent meanwhile.
  bool dead(Time now) {
    if (now - asked_ > interval_ * 2) heard_ = std::max(heard_, now - interval_ * (kMisses - 1));
    asked_ = now;
    return !paused_ && now - heard_ > interval_ * kMisses;
  }
  /// Nothing was heard of the other side after that time, and it did not announce that.
  bool silent_since(Time then) const { return !paused_ && heard_ <= then; }
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  std::chrono::milliseconds interval_;
  Time heard_;
  Time asked_;
  bool paused_ = false;
};

}  // namespace dlaunch::link
