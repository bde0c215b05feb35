#include "agent/stacks_answer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "stacks/text.h"

namespace dlaunch::agent {
namespace {

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
      for (const stacks::Sample& sample : trees_[i]->processes) text += stacks::picture_of(sample, true);
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

}  // namespace

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

}  // namespace dlaunch::agent
