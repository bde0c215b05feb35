// Asks agents what their ranks do, and gathers the answers of one question: a look. Several may be under way; each ends
// when all hosts have answered, or at its limit. Owned by the launcher; loop, hosts and plan must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "wire/stacks.h"

namespace dlaunch::launcher {

struct StackSnapshot {
  std::map<int, wire::Stacks> answers;  ///< by host; each is sound, and of ranks of that host
  std::set<int> silent;                 ///< hosts that did not answer in time
};

class StackSampling {
 public:
  enum class Depth { cheap, whole };  ///< the main thread of each rank; or all threads of it and its descendants, too
  using Done = std::function<void(StackSnapshot look)>;

  StackSampling(asio::io_context& io, Hosts& hosts, const plan::Plan& plan) : io_(io), hosts_(hosts), plan_(plan) {}

  /// Asks for these ranks. `done` is never called from within this.
  void begin(const std::set<int>& ranks, Depth depth, std::chrono::milliseconds limit, const Done& done);
  /// An agent answers. Returns how it breaks the protocol, or an empty text. A late answer is dropped.
  std::string received(int host, wire::Stacks stacks);
  void host_lost(int host);

 private:
  struct Look {
    Look(asio::io_context& io, const Done& then) : timer(io), done(then) {}
    StackSnapshot seen;  // `silent` are those that are awaited
    asio::steady_timer timer;
    Done done;
  };
  void limit(std::uint32_t id, std::chrono::milliseconds limit);
  void end(std::uint32_t id);

  asio::io_context& io_;
  Hosts& hosts_;
  const plan::Plan& plan_;
  std::map<std::uint32_t, Look> looks_;
  std::uint32_t next_ = 1;
};

}  // namespace dlaunch::launcher
