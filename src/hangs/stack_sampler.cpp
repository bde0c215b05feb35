#include "hangs/stack_sampler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "stacks/sample.h"
#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::hangs {
namespace {

constexpr std::chrono::milliseconds kSampleLimit{1000};  // for all ranks of this host together
constexpr std::chrono::milliseconds kThreadsEnd{100};    // after the sample is done
constexpr std::chrono::milliseconds kGiveUp{2000};       // for a sample that does not end, from its start

constexpr std::size_t kRoom = wire::Stacks::kMost - 1024;  // for texts and ranks; the rest is for counts and a remark
// The size of the rank's items in all lists, without the text of its wait.
constexpr std::size_t kNumbersOfARank = 5 * 4 + 4 * 8 + 4 + 4;
constexpr std::size_t kLongestText = 16u << 10;  // a long text must not use all the space
constexpr std::size_t kLongestWait = 64;

std::int64_t signed_of(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

class Answer {
 public:
  explicit Answer(wire::Stacks& message) : message_(message) {}

  /// First the numbers for the hang policy; texts get the remaining space.
  void add_numbers(const RankTree& rank) {
    const stacks::Sample& shown = rank.tree.processes[rank.tree.shown];
    const stacks::ThreadStack& main = shown.threads.front();
    const std::string wait = main.wait.substr(0, kLongestWait);
    if (!take(kNumbersOfARank + wait.size())) return note_left_out();
    trees_.push_back(&rank.tree);
    message_.ranks.push_back(rank.rank);
    message_.pids.push_back(static_cast<std::uint32_t>(shown.pid));
    message_.states.push_back(static_cast<unsigned char>(main.state));
    message_.waits.push_back(wait);
    message_.cpu_ms.push_back(rank.tree.cpu_ms);
    message_.io_bytes.push_back(rank.tree.io_bytes);
    add_hashes(rank.tree);
    message_.flags.push_back(flags_of(rank.tree));
    message_.text.push_back(wire::Stacks::kNone);
  }

  /// Then the main threads' stacks, and remarks.
  void add_stacks() {
    for (const stacks::Tree* tree : trees_) {
      const stacks::ThreadStack& main = tree->processes[tree->shown].threads.front();
      const std::uint32_t stack = tree->timed_out ? empty_stack() : index_of(message_.stacks, stacks::place_of(main));
      message_.stack.push_back(stack == wire::Stacks::kNone ? empty_stack() : stack);
      for (const stacks::Sample& sample : tree->processes) {
        for (const std::string& remark : sample.remarks) index_of(message_.remarks, remark);
      }
    }
  }

  /// Then the stacks of all threads.
  void add_texts() {
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      std::string text;
      for (const stacks::Sample& sample : trees_[i]->processes) {
        if (text.size() <= kLongestText) text += stacks::picture_of(sample, true, kLongestText);
      }
      message_.text[i] = index_of(message_.texts, std::move(text));
    }
  }

 private:
  bool take(std::size_t bytes) {
    if (bytes > room_) return false;
    room_ -= bytes;
    return true;
  }

  void note_left_out() {
    if (!std::exchange(left_out_, true))
      message_.remarks.emplace_back("some stacks are left out: the answer has reached its size limit");
  }

  /// kNone if the text does not fit.
  std::uint32_t index_of(std::vector<std::string>& texts, std::string text) {
    if (text.size() > kLongestText) text = text.substr(0, kLongestText) + "…\n";
    const auto known = std::ranges::find(texts, text);
    if (known == texts.end() && !take(text.size() + 4)) {
      note_left_out();
      return wire::Stacks::kNone;
    }
    const auto index = static_cast<std::uint32_t>(known - texts.begin());
    if (known == texts.end()) texts.push_back(std::move(text));
    return index;
  }

  std::uint32_t empty_stack() {
    const auto known = std::ranges::find(message_.stacks, "");
    const auto index = static_cast<std::uint32_t>(known - message_.stacks.begin());
    if (known == message_.stacks.end()) message_.stacks.emplace_back();
    return index;
  }

  void add_hashes(const stacks::Tree& tree) {
    std::uint64_t main = 0;
    std::uint64_t all = 0;
    for (const stacks::Sample& sample : tree.processes) {
      if (!sample.alive() || tree.timed_out) continue;
      main = main * 31 + sample.threads.front().locals_hash;
      for (const stacks::ThreadStack& thread : sample.threads) all += thread.locals_hash;
    }
    message_.locals.push_back(signed_of(main));
    message_.all_locals.push_back(signed_of(all));
  }

  static std::uint32_t flags_of(const stacks::Tree& tree) {
    std::uint32_t flags = tree.timed_out ? wire::Stacks::kTimedOut : 0u;
    for (const stacks::Sample& sample : tree.processes) {
      flags |= (sample.traced ? wire::Stacks::kTraced : 0u) | (sample.stopped ? wire::Stacks::kStopped : 0u) |
               (sample.python ? wire::Stacks::kPython : 0u) |
               (sample.alive() && sample.threads.front().in_call ? wire::Stacks::kInCall : 0u) |
               (sample.remarks.empty() ? 0u : std::uint32_t{wire::Stacks::kIncomplete});
    }
    return flags;
  }

  wire::Stacks& message_;
  std::size_t room_ = kRoom;
  bool left_out_ = false;
  std::vector<const stacks::Tree*> trees_;  // of message_.ranks
};

Time share(Time now, Time end, std::size_t ranks) { return now + (end - now) / static_cast<std::int64_t>(ranks); }

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

std::optional<std::string> StackSampler::on(wire::Message& message) {
  auto* const question = std::get_if<wire::SampleStacks>(&message);
  if (!question) return std::nullopt;
  ask(std::move(*question));
  return "";
}

void StackSampler::ask(wire::SampleStacks&& question) {
  if (waiting_.size() == kMostWaiting) return;
  auto request = std::make_shared<Request>();
  for (const auto& rank : running_()) {
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
      "the stack sample did not end within 2 s: the host is busy, or the file server of a mapped file does not "
      "respond");
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

wire::Stacks stacks_answer(const wire::SampleStacks& question, std::int64_t time_ns,
                           const std::vector<RankTree>& ranks) {
  wire::Stacks message;
  message.id = question.id;
  message.time_ns = time_ns;
  Answer answer(message);
  for (const RankTree& rank : ranks) {
    if (!rank.tree.processes.empty() && rank.tree.processes.front().alive()) answer.add_numbers(rank);
  }
  answer.add_stacks();
  if (question.whole) answer.add_texts();
  return message;
}

std::vector<RankTree> sample_in_shares(const StackSampler::RankPids& ranks, Time end, const std::function<Time()>& now,
                                       const std::function<stacks::Tree(pid_t pid, Time deadline)>& take) {
  std::vector<RankTree> trees;
  for (std::size_t i = 0; i < ranks.size() && now() < end; ++i) {
    trees.push_back({ranks[i].first, take(ranks[i].second, share(now(), end, ranks.size() - i))});
  }
  const auto timed_out = [](const RankTree& one) { return one.tree.timed_out; };
  auto again = static_cast<std::size_t>(std::ranges::count_if(trees, timed_out));
  for (std::size_t i = 0; i < trees.size() && again > 0 && now() < end; ++i) {
    if (trees[i].tree.timed_out) trees[i].tree = take(ranks[i].second, share(now(), end, again--));
  }
  return trees;
}

}  // namespace dlaunch::hangs
