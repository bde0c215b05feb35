// Answers SampleStacks with Stacks. A thread takes the samples, because reads of /proc may be slow and the loop must
// not wait. The thread belongs to the worker, an ancestor of the ranks: on some systems (Yama's ptrace_scope 1) no
// other process may read their stacks. Owned by the Agent; link and loop must outlive this object.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/task.h"
#include "base/lifetime.h"
#include "base/time.h"
#include "link/link.h"
#include "stacks/sample.h"
#include "stacks/sampler.h"
#include "sys/thread.h"
#include "wire/message.h"
#include "wire/ranks.h"

namespace dlaunch::hangs {

struct RankTree {
  std::uint32_t rank = 0;
  stacks::Tree tree;
};

/// Builds the one message with the samples of a host's ranks: ranks with the same stack share its text. Data over the
/// message's size limit is dropped, with a remark. PURE.
wire::Stacks stacks_answer(const wire::SampleStacks& question, std::int64_t time_ns,
                           const std::vector<RankTree>& ranks);

class StackSampler final : public agent::Task {
 public:
  using RankPids = std::vector<std::pair<std::uint32_t, pid_t>>;

  /// `running` returns the ranks of this host.
  StackSampler(asio::io_context& io, link::Link& link, std::function<RankPids()> running)
      : io_(io), link_(link), running_(std::move(running)), limit_(io) {}

  /// Requests are answered in order; at most kMostWaiting may wait.
  std::optional<std::string> on(wire::Message& message) override;
  /// Forgets all requests. A running sample ends by itself.
  void stop() override;

 private:
  struct Request;
  void ask(wire::SampleStacks&& question);
  void start_next();
  void finished();
  void answer(wire::Stacks&& stacks);
  void give_up();

  static constexpr std::size_t kMostWaiting = 8;
  static constexpr std::size_t kMostGivenUp = 3;

  asio::io_context& io_;
  link::Link& link_;
  const std::function<RankPids()> running_;
  std::deque<std::shared_ptr<Request>> waiting_;  // the first one is running
  sys::Thread thread_;
  asio::steady_timer limit_;
  std::vector<std::shared_ptr<Request>> given_up_;  // their threads still hang, for example in a file on a dead server
  stacks::Caches caches_;                           // of the last sample; the running sample owns them
  std::uint32_t next_ = 0;  // the rank to start with: the last sample ran out of time before this rank
  std::optional<asio::posix::stream_descriptor> done_;  // readable after the thread has ended its sample
  const Lifetime lifetime_;
};

// Divides the time of a stack sample among the ranks of a host, so that a slow rank does not hide the others. PURE.

/// Samples the ranks in order until `end`. Each rank may use an equal part of the time that is left. Then ranks that
/// ran out of time are sampled again if time is left. The result has fewer ranks if the time ended before. `take`
/// samples one process until its deadline.
std::vector<RankTree> sample_in_shares(const StackSampler::RankPids& ranks, Time end, const std::function<Time()>& now,
                                       const std::function<stacks::Tree(pid_t pid, Time deadline)>& take);

}  // namespace dlaunch::hangs
