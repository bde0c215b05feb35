// ClockReadings: the offset of a host's clock, from questions to its agent. PURE: time is a parameter. Owned by
// HostLink. Clocks drift and may be set, so old readings lose their value.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "job/events.h"

namespace dlaunch::launcher {

class ClockReadings {
 public:
  static constexpr size_t kKept = 8;
  static constexpr std::int64_t kDrift = 10'000;  ///< two clocks differ by one second more after this many seconds

  /// A message that the agent answers at once with its time was sent.
  void asked(Time now) { asked_ = now; }
  bool awaits_answer() const { return asked_.has_value(); }
  /// The answer to asked(): CLOCK_REALTIME of the host in nanoseconds, any value. Ignored without a question.
  void answered(std::int64_t host_ns, Time now);
  /// The most accurate reading. Before the first reading, the error is unlimited.
  job::HostClock at(Time now) const;

 private:
  struct Reading {
    Time time;
    job::HostClock clock;
  };
  static job::HostClock aged(const Reading& reading, Time now);

  std::optional<Time> asked_;
  std::deque<Reading> readings_;  // oldest first; all agree within their errors
};

/// The clock of this machine.
job::HostClock own_clock();

}  // namespace dlaunch::launcher
