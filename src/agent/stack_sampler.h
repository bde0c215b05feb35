// Answers SampleStacks with Stacks. A thread looks, because files of /proc may be slow to read and the loop must not
// wait; it is a thread of the worker, because only an ancestor of a rank may look into it everywhere. Owned by the
// Agent; link and loop must outlive it.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "link/link.h"
#include "stacks/sampler.h"
#include "sys/thread.h"
#include "wire/message.h"

namespace dlaunch::agent {

class StackSampler {
 public:
  using RankPids = std::vector<std::pair<std::uint32_t, pid_t>>;

  StackSampler(asio::io_context& io, link::Link& link) : io_(io), link_(link), limit_(io) {}

  /// `running`: the ranks of this host. StacksServer are answered one after the other, at most kMostWaiting of them.
  void ask(wire::SampleStacks&& question, const RankPids& running);
  /// Forgets all questions. A look that has begun ends by itself.
  void stop();

 private:
  struct Look;
  void start_next();
  void finished();
  void answer(wire::Stacks&& stacks);
  void give_up();

  static constexpr std::size_t kMostWaiting = 8;
  static constexpr std::size_t kMostGivenUp = 3;

  asio::io_context& io_;
  link::Link& link_;
  std::deque<std::shared_ptr<Look>> waiting_;  // the first is looking
  sys::Thread thread_;
  asio::steady_timer limit_;
  std::vector<std::shared_ptr<Look>> given_up_;  // their threads are still somewhere, as in a file on a dead server
  stacks::Caches caches_;                        // of the last look; the one that looks has them
  std::uint32_t next_ = 0;                       // the rank to begin with: there was no time for it before
  std::optional<asio::posix::stream_descriptor> done_;  // readable once the thread has ended its look
};

}  // namespace dlaunch::agent
