// Numbers the own Pings of a link, and records the answers of the peer. PURE: time is a parameter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "wire/message.h"

namespace dlaunch::link {

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
  /// A Ping of the peer. Returns whether it answers further Pings. Ignores answers to Pings that were not sent.
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

}  // namespace dlaunch::link
