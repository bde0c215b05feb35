// The events of a world, ordered by time and then by the order of their calls. PURE.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "time/virtual_time.h"

namespace sim {

class EventQueue {
 public:
  void add(Ns time, std::function<void()> run) { events_.push({time, ++number_, std::move(run)}); }
  bool empty() const { return events_.empty(); }
  std::optional<Ns> next() const { return events_.empty() ? std::nullopt : std::optional(events_.top().time); }
  std::pair<Ns, std::function<void()>> take() {
    Event event = events_.top();
    events_.pop();
    return {event.time, std::move(event.run)};
  }

 private:
  struct Event {
    Ns time;
    std::uint64_t number;
    std::function<void()> run;
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  std::priority_queue<Event> events_;
  std::uint64_t number_ = 0;
};

}  // namespace sim
