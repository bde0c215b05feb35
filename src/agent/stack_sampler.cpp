#include "agent/stack_sampler.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "agent/sample_shares.h"
#include "agent/stacks_answer.h"
#include "base/time.h"
#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kSampleLimit{1000};  // for all ranks of this host together
constexpr std::chrono::milliseconds kThreadsEnd{100};    // after the sample is done
constexpr std::chrono::milliseconds kGiveUp{2000};       // for a sample that does not end, from its start

}  // namespace

/// Shared with the thread, which may outlive a stopped sampler.
struct StackSampler::Request {
  wire::SampleStacks question;
  RankPids ranks;
  stacks::Caches caches;
  std::uint32_t next = 0;  // the first rank that was not sampled in time
  wire::Stacks answer;
  sys::Fd done;  // closed after the answer is complete
  std::atomic<bool> ended = false;

  void run() {
    stacks::Sampler sampler{.deadline = Clock::now() + kSampleLimit, .all_threads = question.whole};
    sampler.caches = std::move(caches);
    sampler.caches.samples.begin_sampling();
    sampler.caches.modules.forget_some();
    const std::int64_t time_ns = sys::wall_ns();
    const std::vector<RankTree> trees =
        sample_in_shares(ranks, sampler.deadline, Clock::now, [&](pid_t pid, Time deadline) {
          sampler.deadline = deadline;
          return stacks::take_tree(pid, sampler);
        });
    answer = stacks_answer(question, time_ns, trees);
    const bool timed_out = std::ranges::any_of(trees, [](const RankTree& one) { return one.tree.timed_out; });
    if (trees.size() < ranks.size()) next = ranks[trees.size()].first;
    if (timed_out || trees.size() < ranks.size()) {
      answer.remarks.emplace_back("the host did not sample all of its ranks in time");
    }
    caches = std::move(sampler.caches);
    ended = true;
    done.reset();
  }
};

void StackSampler::ask(wire::SampleStacks&& question, const RankPids& running) {
  if (waiting_.size() == kMostWaiting) return;
  auto request = std::make_shared<Request>();
  for (const auto& rank : running) {
    if (question.ranks.empty() || std::ranges::find(question.ranks, rank.first) != question.ranks.end()) {
      request->ranks.push_back(rank);
    }
  }
  std::ranges::sort(request->ranks);
  request->question = std::move(question);
  waiting_.push_back(std::move(request));
  if (waiting_.size() == 1) start_next();
}

void StackSampler::start_next() {
  std::erase_if(given_up_, [](const auto& request) { return request->ended.load(); });
  if (given_up_.size() == kMostGivenUp) return give_up();
  sys::Pipe pipe = sys::make_pipe();
  const auto request = waiting_.front();
  request->caches = std::move(caches_);
  caches_ = {};
  std::ranges::rotate(request->ranks,
                      std::ranges::lower_bound(request->ranks, next_, {}, &RankPids::value_type::first));
  if (!pipe.read) return finished();
  limit_.expires_after(kGiveUp);
  // Both handlers may run once more after the answer.
  const auto is_current = [this, request] { return !waiting_.empty() && waiting_.front() == request; };
  limit_.async_wait(lifetime_.guard([this, is_current](asio::error_code error) {
    if (error || !is_current()) return;
    given_up_.push_back(waiting_.front());
    give_up();
  }));
  request->done = std::move(pipe.write);
  done_.emplace(io_, pipe.read.release());
  done_->async_wait(asio::posix::stream_descriptor::wait_read,
                    lifetime_.guard([this, is_current](asio::error_code error) {
                      if (!error && is_current()) finished();
                    }));
  if (thread_.start([request] { request->run(); }) != 0) request->done.reset();
}

/// Without a thread or a descriptor for the sample, the answer has no ranks.
void StackSampler::finished() {
  thread_.join_until(Clock::now() + kThreadsEnd);
  caches_ = std::move(waiting_.front()->caches);
  next_ = waiting_.front()->next;
  answer(std::move(waiting_.front()->answer));
}

/// The thread keeps its sample and the caches of earlier samples.
void StackSampler::give_up() {
  wire::Stacks nothing;
  nothing.remarks.emplace_back(
      "the stack sample hangs: a file that a rank has mapped may be on a file server that does not respond");
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
