#include "agent/stack_sampler.h"

#include <algorithm>
#include <chrono>

#include "agent/stacks_answer.h"
#include "base/time.h"
#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kLongestLook{1000};  // at all ranks of this host together
constexpr std::chrono::milliseconds kThreadsEnd{100};    // after it has said that it is done

}  // namespace

/// Shared with the thread, which outlives a sampler that stops.
struct StackSampler::Look {
  wire::SampleStacks question;
  RankPids ranks;
  wire::Stacks answer;
  sys::Fd done;  // closed behind the answer

  void run() {
    stacks::Look look{.deadline = Clock::now() + kLongestLook, .all_threads = question.whole};
    const std::int64_t time_ns = sys::wall_ns();
    std::vector<RankTree> trees;
    for (const auto& [rank, pid] : ranks) {
      if (Clock::now() >= look.deadline) break;
      trees.push_back({rank, stacks::take_tree(pid, look)});
    }
    answer = stacks_answer(question, time_ns, trees);
    if (trees.size() < ranks.size()) answer.remarks.emplace_back("this host had no time for all of its ranks");
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
  look->question = std::move(question);
  waiting_.push_back(std::move(look));
  if (waiting_.size() == 1) start_next();
}

void StackSampler::start_next() {
  sys::Pipe pipe = sys::make_pipe();
  const auto& look = waiting_.front();
  if (!pipe.read) return finished();
  look->done = std::move(pipe.write);
  done_.emplace(io_, pipe.read.release());
  done_->async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (!error) finished();
  });
  if (thread_.start([look] { look->run(); }) != 0) look->done.reset();
}

/// Where there was no thread or no descriptor for it, the answer names no rank.
void StackSampler::finished() {
  const auto look = std::move(waiting_.front());
  waiting_.pop_front();
  done_.reset();
  thread_.join_until(Clock::now() + kThreadsEnd);
  thread_ = {};
  look->answer.id = look->question.id;
  link_.send(std::move(look->answer));
  if (!waiting_.empty()) start_next();
}

void StackSampler::stop() {
  waiting_.clear();
  done_.reset();
}

}  // namespace dlaunch::agent
