#include "job/hangs.h"

#include <algorithm>
#include <utility>

namespace dlaunch::job {
namespace {

Doing doing_in(RankSample::State state) {
  switch (state) {
    case RankSample::State::stopped:
      return Doing::stopped;
    case RankSample::State::traced:
      return Doing::traced;
    case RankSample::State::waits_for_storage:
      return Doing::waits_for_storage;
    case RankSample::State::runs:
      break;
  }
  return Doing::moves;
}

}  // namespace

Hangs::Hangs(Duration window, Time now) : window_(window), silent_since_(now), next_(now + step()), last_call_(now) {}

void Hangs::active(Time now) {
  silent_since_ = now;
  next_ = now + step();
  ranks_.clear();
  reported_ = Verdict::Kind::nothing;
}

bool Hangs::due(Time now, Duration suspended) {
  const bool slept = !std::exchange(fresh_, false) && suspended - suspended_ >= kSuspended;
  const bool stalled = now - last_call_ >= std::max<Duration>(kStall, step());
  suspended_ = suspended;
  last_call_ = now;
  if (slept || stalled) active(now);
  if (now < next_) return false;
  next_ = std::max(next_ + step(), now + step() / 2);
  return true;
}

Verdict Hangs::evaluate(const std::vector<RankSample>& samples, const std::set<int>& running, Time now) {
  std::set<int> unknown = running;
  for (const RankSample& sample : samples) {
    if (unknown.erase(sample.rank) > 0) take(sample, now);
  }
  for (const int rank : unknown) ranks_.erase(rank);
  Verdict verdict;
  size_t waiting = 0;
  for (const int rank : running) {
    const auto known = ranks_.find(rank);
    const Doing doing = known == ranks_.end() ? Doing::unknown : known->second.doing;
    verdict.doing[doing].insert(rank);
    if (doing == Doing::waits && known->second.waited >= kSamples) ++waiting;
  }
  if (waiting == 0 || now - silent_since_ < window_) return verdict;
  const auto all = verdict.doing.find(Doing::waits);
  const bool soon = all != verdict.doing.end() && all->second == running && waiting < running.size();
  if (soon) return verdict;  // all ranks wait, but not all long enough
  const bool spoken = spoke_ && now - *spoke_ < window_;
  const auto kind = waiting == running.size() && !spoken ? Verdict::Kind::hangs : Verdict::Kind::some_wait;
  if (kind > reported_) verdict.kind = reported_ = kind;
  return verdict;
}

void Hangs::take(const RankSample& sample, Time now) {
  const auto known = ranks_.find(sample.rank);
  Rank rank{sample, now, 1, doing_in(sample.state)};
  if (known == ranks_.end()) {
    ranks_.emplace(sample.rank, rank);
    return;
  }
  rank.doing = compare(known->second, sample, now);
  if (rank.doing == Doing::waits) {
    rank.first = known->second.first;
    rank.since = known->second.since;
    rank.waited = known->second.waited + 1;
  }
  known->second = rank;
}

Doing Hangs::compare(const Rank& before, const RankSample& sample, Time now) {
  const RankSample& first = before.first;
  if (sample.state != RankSample::State::runs) return doing_in(sample.state);
  if (first.state != RankSample::State::runs) return Doing::moves;
  if (first.stack != sample.stack || first.locals != sample.locals) return Doing::moves;
  const bool may_poll = first.polls && sample.polls;
  const auto share = std::chrono::duration<double>(now - before.since) * (may_poll ? kPollingShare : kBusyShare);
  const auto idle = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(share), kTicks);
  // Counters decrease when processes end.
  const auto differ = [](auto one, auto other) { return one < other ? other - one : one - other; };
  if (differ(first.io_bytes, sample.io_bytes) >= kBusyBytes) return Doing::moves;
  return differ(first.cpu, sample.cpu) <= idle ? Doing::waits : Doing::moves;
}

}  // namespace dlaunch::job
