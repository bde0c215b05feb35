// The agent's permission to run ranks. PURE: time is a parameter. Owned by the Agent.
//
// A lease begins with Setup. The lease ends one length after the agent sent the newest Ping with an answer of the
// launcher. The length is Setup's pause_limit_ms, or Layout's lease_ms. After Pause, the lease does not end before the
// pause limit; the next frame of the launcher reduces this time to one length. The launcher computes the same or a
// later end (launcher/host_link.h, gone_by()), and starts no rank of the host elsewhere before this end.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"
#include "link/heartbeat.h"

namespace dlaunch::link {

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
