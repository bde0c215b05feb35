#include "agent/stack_sampler.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "agent/stacks_answer.h"
#include "base/time.h"
#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kLongestLook{1000};  // at all ranks of this host together
constexpr std::chrono::milliseconds kThreadsEnd{100};    // after it has said that it is done
constexpr std::chrono::milliseconds kGiveUp{2000};       // a look that does not end, from its begin

}  // namespace

/// Shared with the thread, which outlives a sampler that stops.
struct StackSampler::Look {
  wire::SampleStacks question;
  RankPids ranks;
  stacks::Caches caches;
  std::uint32_t next = 0;  // the first rank that there was no time for
  wire::Stacks answer;
  sys::Fd done;  // closed behind the answer
  std::atomic<bool> ended = false;

  void run() {
    stacks::Sampler sampler{.deadline = Clock::now() + kLongestLook, .all_threads = question.whole};
    sampler.caches = std::move(caches);
    sampler.caches.samples.begin_sampling();
    sampler.caches.modules.forget_some();
    const std::int64_t time_ns = sys::wall_ns();
    std::vector<RankTree> trees;
    for (const auto& [rank, pid] : ranks) {
      if (Clock::now() >= sampler.deadline) break;
      trees.push_back({rank, stacks::take_tree(pid, sampler)});
    }
    answer = stacks_answer(question, time_ns, trees);
    const auto timed_out = std::ranges::find_if(trees, [](const RankTree& one) { return one.tree.timed_out; });
    // One that alone takes all the time lets the others go first.
    const auto left_out = static_cast<std::size_t>(timed_out - trees.begin()) + (timed_out == trees.begin() ? 1 : 0);
    if (left_out < ranks.size()) next = ranks[left_out].first;
    if (timed_out != trees.end() || trees.size() < ranks.size()) {
      answer.remarks.emplace_back("this host had no time for all of its ranks");
    }
    caches = std::move(sampler.caches);
    ended = true;
    done.reset();
  }
};

void StackSampler::ask(wire::SampleStacks&& question, const RankPids& running) {
  if (waiting_.size() == kMostWaiting) return;
  auto look = std::make_shared<Look>();
  for (const auto& rank : running) {
    if (question.ranks.empty() || std::ranges::find(question.ranks, rank.first) != question.ranks.end()) {
      look->ranks.push_back(rank);
    }
  }
  std::ranges::sort(look->ranks);
  look->question = std::move(question);
  waiting_.push_back(std::move(look));
  if (waiting_.size() == 1) start_next();
}

void StackSampler::start_next() {
  std::erase_if(given_up_, [](const auto& look) { return look->ended.load(); });
  if (given_up_.size() == kMostGivenUp) return give_up();
  sys::Pipe pipe = sys::make_pipe();
  const auto look = waiting_.front();
  look->caches = std::move(caches_);
  caches_ = {};
  std::ranges::rotate(look->ranks, std::ranges::lower_bound(look->ranks, next_, {}, &RankPids::value_type::first));
  if (!pipe.read) return finished();
  limit_.expires_after(kGiveUp);
  // Both may be called once more after the look was answered.
  const auto is_current = [this, look] { return !waiting_.empty() && waiting_.front() == look; };
  limit_.async_wait([this, is_current](asio::error_code error) {
    if (error || !is_current()) return;
    given_up_.push_back(waiting_.front());
    give_up();
  });
  look->done = std::move(pipe.write);
  done_.emplace(io_, pipe.read.release());
  done_->async_wait(asio::posix::stream_descriptor::wait_read, [this, is_current](asio::error_code error) {
    if (!error && is_current()) finished();
  });
  if (thread_.start([look] { look->run(); }) != 0) look->done.reset();
}

/// Where there was no thread or no descriptor for it, the answer names no rank.
void StackSampler::finished() {
  thread_.join_until(Clock::now() + kThreadsEnd);
  caches_ = std::move(waiting_.front()->caches);
  next_ = waiting_.front()->next;
  answer(std::move(waiting_.front()->answer));
}

/// The thread keeps its look, with what earlier ones have found.
void StackSampler::give_up() {
  wire::Stacks nothing;
  nothing.remarks.emplace_back(
      "a look at its ranks does not end: a file that they have mapped may be on a dead server");
  answer(std::move(nothing));
}

void StackSampler::answer(wire::Stacks&& stacks) {
  stacks.id = waiting_.front()->question.id;
  waiting_.pop_front();
  limit_.cancel();
  done_.reset();
  thread_ = {};
  link_.send(std::move(stacks));
  if (!waiting_.empty()) start_next();
}

void StackSampler::stop() {
  waiting_.clear();
  limit_.cancel();
  done_.reset();
}

}  // namespace dlaunch::agent
