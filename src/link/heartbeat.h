// When to say that we live, and when to hold the other side for dead. PURE: time is a parameter.
#pragma once

#include <chrono>
#include <optional>

namespace dlaunch::link {

class Heartbeat {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kMisses = 3;

  Heartbeat(std::chrono::milliseconds interval, Time now) : interval_(interval), heard_(now) {}

  void heard(Time now) {
    heard_ = now;
    paused_ = false;
  }
  /// The other side said that it will be silent until it is heard again.
  void pause() { paused_ = true; }
  /// We were stopped ourselves: what the other side sent meanwhile has yet to be read.
  void resumed(Time now) { heard_ = now; }
  bool dead(Time now) const { return !paused_ && now - heard_ > interval_ * kMisses; }
  std::chrono::milliseconds interval() const { return interval_; }

 private:
  std::chrono::milliseconds interval_;
  Time heard_;
  bool paused_ = false;
};

}  // namespace dlaunch::link
