#include "job/first_failure.h"

#include <csignal>

namespace dlaunch::job {
namespace {

constexpr std::int64_t kReapingNs = std::chrono::nanoseconds(kReaping).count();

/// As no rank ends because of another, or of our signal (an agent tells LeftMpi only before it).
bool ended_by_itself(const RankRecord& record) {
  if (!record.status) return false;
  const auto* by = std::get_if<Signaled>(&record.status->value());
  if (by) return by->signal == SIGKILL && !record.needed_kill;
  return std::holds_alternative<LeftMpi>(record.status->value());
}

}  // namespace

bool before(const RankRecord& one, const RankRecord& other) {
  if (other.abort_code && ended_by_itself(one)) return one.end_ns < other.end_ns + kReapingNs;
  if (one.abort_code && ended_by_itself(other)) return one.end_ns + kReapingNs <= other.end_ns;
  return one.end_ns < other.end_ns;
}

}  // namespace dlaunch::job
