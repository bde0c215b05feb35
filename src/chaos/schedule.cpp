#include "chaos/schedule.h"

#include <algorithm>

#include "chaos/line_pattern.h"

namespace dlaunch::chaos {

Schedule::Schedule(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    planned_.push_back({.fault = fault, .matches = {}});
    if (fault.when.line.empty()) continue;
    planned_.back().matches = line_pattern(fault.when.line).value();  // parse_fault accepted it
  }
}

void Schedule::round_began(int round, Time now) {
  ranks_run_ = true;
  for (Planned& each : planned_) {
    if (each.state == State::missed) each.state = State::waiting;
    const bool from_here = !each.matches && !each.at && round >= each.fault.when.round;
    if (from_here) each.at = now + each.fault.when.time;
  }
}

void Schedule::line(std::string_view text, Time now) {
  for (Planned& each : planned_) {
    if (!each.matches || each.at || !each.matches(text)) continue;
    if (++each.lines == each.fault.when.nth) each.at = now;
  }
}

std::vector<Schedule::Due> Schedule::due(Time now) const {
  std::vector<Due> due;
  if (!ranks_run_) return due;
  for (size_t i = 0; i < planned_.size(); ++i) {
    const Planned& each = planned_[i];
    const bool counts = each.state == State::waiting || each.state == State::going_on;
    if (counts && each.at && *each.at <= now) due.push_back({i, each.state == State::going_on});
  }
  std::ranges::stable_sort(due, {}, [&](const Due& one) { return *planned_[one.fault].at; });
  return due;
}

std::optional<Time> Schedule::next() const {
  std::optional<Time> first;
  if (!ranks_run_) return first;
  for (const Planned& each : planned_) {
    const bool counts = each.state == State::waiting || each.state == State::going_on;
    if (counts && each.at && (!first || *each.at < *first)) first = each.at;
  }
  return first;
}

void Schedule::begun(size_t fault, Time now) {
  Planned& each = planned_[fault];
  each.state = each.fault.lasts ? State::going_on : State::over;
  if (each.fault.lasts) each.at = now + *each.fault.lasts;
}

void Schedule::ended(size_t fault) { planned_[fault].state = State::over; }
void Schedule::missed(size_t fault) { planned_[fault].state = State::missed; }

}  // namespace dlaunch::chaos
