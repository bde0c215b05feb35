#include "hangs/rank_stacks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/printable.h"

namespace dlaunch::hangs {
namespace {

using Flags = wire::Stacks;

bool has(std::uint32_t flags, std::uint8_t bit) { return (flags & bit) != 0; }

job::RankSample::State state_of(const wire::Stacks& stacks, std::size_t i) {
  using State = job::RankSample::State;
  if (has(stacks.flags[i], Flags::kTraced)) return State::traced;
  if (has(stacks.flags[i], Flags::kStopped)) return State::stopped;
  return stacks.states[i] == 'D' ? State::waits_for_storage : State::runs;
}

/// CPU time of a rank, and the host's time of the measurement.
struct Used {
  std::int64_t time_ns;
  std::int64_t cpu_ms;
};

std::map<std::uint32_t, Used> used(const StackSnapshot& snapshot) {
  std::map<std::uint32_t, Used> all;
  for (const auto& [host, stacks] : snapshot.answers) {
    for (std::size_t i = 0; i < stacks.ranks.size(); ++i) all[stacks.ranks[i]] = {stacks.time_ns, stacks.cpu_ms[i]};
  }
  return all;
}

std::optional<double> share(const Used& before, const Used& now) {
  const auto ms = static_cast<double>(now.time_ns - before.time_ns) / 1e6;
  const auto cpu = static_cast<double>(now.cpu_ms - before.cpu_ms);
  if (ms < 1 || cpu < 0) return std::nullopt;
  return 100 * cpu / ms;
}

}  // namespace

std::vector<job::RankSample> rank_samples(const StackSnapshot& snapshot) {
  std::vector<job::RankSample> samples;
  for (const auto& [host, stacks] : snapshot.answers) {
    for (std::size_t i = 0; i < stacks.ranks.size(); ++i) {
      if (has(stacks.flags[i], Flags::kTimedOut)) continue;
      job::RankSample sample{.rank = static_cast<int>(stacks.ranks[i]), .state = state_of(stacks, i)};
      sample.stack = std::hash<std::string>{}(stacks.stacks[stacks.stack[i]]);
      const bool in_call = has(stacks.flags[i], Flags::kInCall);
      sample.polls = in_call && stacks.states[i] == 'R';
      if (in_call || has(stacks.flags[i], Flags::kPython)) sample.locals = static_cast<std::uint64_t>(stacks.locals[i]);
      sample.cpu = std::chrono::milliseconds(stacks.cpu_ms[i]);
      sample.io_bytes = stacks.io_bytes[i];
      samples.push_back(sample);
    }
  }
  return samples;
}

void fill_picture(const StackSnapshot& snapshot, const StackSnapshot& before, const plan::Plan& plan,
                  report::StackReport& picture) {
  const std::map<std::uint32_t, Used> earlier = used(before);
  picture.worlds = plan.worlds;
  for (const auto& [host, stacks] : snapshot.answers) {
    for (std::size_t i = 0; i < stacks.ranks.size(); ++i) {
      report::RankStack rank{.rank = static_cast<int>(stacks.ranks[i]), .host = plan.host(host).host.name};
      rank.frames = stacks.stacks[stacks.stack[i]];
      rank.state = stacks.states[i] < 0x80 ? static_cast<char>(stacks.states[i]) : '?';
      rank.stopped = has(stacks.flags[i], Flags::kStopped);
      rank.traced = has(stacks.flags[i], Flags::kTraced);
      rank.in_call = has(stacks.flags[i], Flags::kInCall);
      rank.wait = printable(stacks.waits[i].substr(0, 40));
      if (const auto at = earlier.find(stacks.ranks[i]); at != earlier.end()) {
        rank.cpu = share(at->second, {stacks.time_ns, stacks.cpu_ms[i]});
      }
      picture.ranks.push_back(std::move(rank));
    }
    for (const std::string& remark : stacks.remarks) picture.remarks.insert(plan.host(host).host.name + ": " + remark);
  }
  std::ranges::sort(picture.ranks, {}, &report::RankStack::rank);
  for (const int host : snapshot.silent) {
    picture.silent_hosts.push_back(plan.host(host).host.name);
    picture.silent_ranks.insert(plan.host(host).ranks.begin(), plan.host(host).ranks.end());
  }
}

std::string whole_stacks(const StackSnapshot& snapshot, const plan::Plan& plan) {
  std::map<std::uint32_t, std::string> by_rank;
  for (const auto& [host, stacks] : snapshot.answers) {
    for (std::size_t i = 0; i < stacks.ranks.size(); ++i) {
      const bool there = stacks.text[i] != wire::Stacks::kNone;
      by_rank[stacks.ranks[i]] = "== rank " + plan.worlds.name(static_cast<int>(stacks.ranks[i])) + " (" +
                                 plan.host(host).host.name + ", pid " + std::to_string(stacks.pids[i]) + ")\n" +
                                 (there ? stacks.texts[stacks.text[i]] : stacks.stacks[stacks.stack[i]]) + "\n";
    }
  }
  std::string all;
  for (const auto& [rank, text] : by_rank) all += printable_lines(text);
  return all;
}

std::string doing_text(const job::Verdict& verdict, const Worlds& worlds) {
  using job::Doing;
  struct Row {
    Doing doing;
    const char* one;
    const char* many;
  };
  static constexpr std::array<Row, 5> kRows{{{Doing::moves, "is running", "are running"},
                                             {Doing::waits_for_storage, "waits for storage", "wait for storage"},
                                             {Doing::stopped, "is stopped", "are stopped"},
                                             {Doing::traced, "is in a debugger", "are in a debugger"},
                                             {Doing::unknown, "does not answer", "do not answer"}}};
  std::string text;
  const auto add = [&](const std::set<int>& ranks, const char* one, const char* many) {
    if (ranks.empty()) return;
    text += (text.empty() ? "" : "; ") + std::string(ranks.size() == 1 ? "rank " : "ranks ") + worlds.fold(ranks) +
            ' ' + (ranks.size() == 1 ? one : many);
  };
  const auto of = [&](Doing doing) {
    const auto found = verdict.doing.find(doing);
    return found == verdict.doing.end() ? std::set<int>() : found->second;
  };
  add(of(Doing::waits), "waits", "wait");
  for (const Row& row : kRows) add(of(row.doing), row.one, row.many);
  return text;
}

void StackSampling::begin(const std::set<int>& ranks, Depth depth, std::chrono::milliseconds longest,
                          const Done& done) {
  const std::uint32_t id = next_++;
  Request& request = requests_.try_emplace(id, io_, done).first->second;
  std::map<int, wire::SampleStacks> questions;
  for (const int rank : ranks) questions[plan_.rank(rank).host].ranks.push_back(static_cast<std::uint32_t>(rank));
  for (auto& [host, question] : questions) {
    question.id = id;
    question.whole = depth == Depth::whole;
    request.snapshot.silent.insert(host);
    hosts_.send(host, question);
  }
  limit(id, ranks.empty() ? std::chrono::milliseconds(0) : longest);
}

void StackSampling::limit(std::uint32_t id, std::chrono::milliseconds limit) {
  asio::steady_timer& timer = requests_.at(id).timer;
  timer.expires_after(limit);
  timer.async_wait(lifetime_.guard([this, id](asio::error_code error) {
    if (!error) end(id);
  }));
}

std::string StackSampling::received(int host, wire::Stacks stacks) {
  if (stacks.id == 0 || stacks.id >= next_) return "protocol error: unexpected reply from the agent";
  if (!stacks.sound()) return "protocol error: invalid stack sample from the agent";
  const auto is_there = [&](std::uint32_t rank) { return rank < plan_.ranks.size() && plan_.ranks[rank].host == host; };
  if (!std::ranges::all_of(stacks.ranks, is_there))
    return "protocol error: the agent sent a message about a rank of another host";
  const auto found = requests_.find(stacks.id);
  if (found == requests_.end() || found->second.snapshot.silent.erase(host) == 0) return {};
  found->second.snapshot.answers.emplace(host, std::move(stacks));
  if (found->second.snapshot.silent.empty()) limit(found->first, std::chrono::milliseconds(0));
  return {};
}

/// The host stays in `silent`.
void StackSampling::host_lost(int host) {
  for (auto& [id, request] : requests_) {
    const bool last = request.snapshot.silent.size() == 1 && request.snapshot.silent.contains(host);
    if (last) limit(id, std::chrono::milliseconds(0));
  }
}

void StackSampling::end(std::uint32_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  auto node = requests_.extract(found);  // `done` may start another request
  node.mapped().done(std::move(node.mapped().snapshot));
}

}  // namespace dlaunch::hangs
