#include "job/first_failure.h"

#include <csignal>

namespace dlaunch::job {
namespace {

constexpr std::int64_t kReapingNs = std::chrono::nanoseconds(kReaping).count();

/// Whether neither another rank nor our signal ends a rank so (an agent reports LeftMpi only before it signals).
bool ended_by_itself(const RankRecord& record) {
  if (!record.status) return false;
  const auto* by = std::get_if<Signaled>(&record.status->value());
  if (by) return by->signal == SIGKILL && !record.needed_kill;
  return std::holds_alternative<LeftMpi>(record.status->value());
}

/// Whether the rank ended as ranks do whose peer has gone.
bool ended_by_peer(const RankRecord& record) {
  const auto* by = record.status ? std::get_if<Signaled>(&record.status->value()) : nullptr;
  return record.abort_code || (by && by->signal == SIGPIPE);
}

}  // namespace

bool before(const RankRecord& one, const RankRecord& other) {
  if (ended_by_peer(other) && ended_by_itself(one)) return one.end_ns < other.end_ns + kReapingNs;
  if (ended_by_peer(one) && ended_by_itself(other)) return one.end_ns + kReapingNs <= other.end_ns;
  return one.end_ns < other.end_ns;
}

}  // namespace dlaunch::job
