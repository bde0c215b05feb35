// Stack samples: StackSampling requests the samples from agents, and functions convert the samples for the hang policy
// and for the stack report.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "dlaunch/plan.h"
#include "job/hangs.h"
#include "launcher/hosts.h"
#include "report/stack_groups.h"
#include "wire/ranks.h"

namespace dlaunch::hangs {

struct StackSnapshot {
  std::map<int, wire::Stacks> answers;  ///< by host; each answer is valid, and has only ranks of that host
  std::set<int> silent;                 ///< hosts that did not answer in time
};

/// Requests stack samples from agents, and gathers the answers to one request into a StackSnapshot. Several requests
/// may run at a time; each ends when all hosts have answered, or at its time limit. Owned by RankWatch; loop, hosts
/// and plan must outlive this object.
class StackSampling {
 public:
  enum class Depth {
    cheap,
    whole
  };  ///< the main thread of each rank; or all threads of the rank and of its descendants
  using Done = std::function<void(StackSnapshot snapshot)>;

  StackSampling(asio::io_context& io, launcher::Hosts& hosts, const plan::Plan& plan)
      : io_(io), hosts_(hosts), plan_(plan) {}

  /// Samples these ranks. `done` is never called from within this function.
  void begin(const std::set<int>& ranks, Depth depth, std::chrono::milliseconds limit, const Done& done);
  /// Takes an agent's answer. Returns the protocol error, or an empty text. Drops a late answer.
  std::string received(int host, wire::Stacks stacks);
  void host_lost(int host);

 private:
  struct Request {
    Request(asio::io_context& io, const Done& then) : timer(io), done(then) {}
    StackSnapshot snapshot;  // `silent`: hosts without an answer so far
    asio::steady_timer timer;
    Done done;
  };
  void limit(std::uint32_t id, std::chrono::milliseconds limit);
  void end(std::uint32_t id);

  asio::io_context& io_;
  launcher::Hosts& hosts_;
  const plan::Plan& plan_;
  std::map<std::uint32_t, Request> requests_;
  std::uint32_t next_ = 1;
  const Lifetime lifetime_;
};

std::vector<job::RankSample> rank_samples(const StackSnapshot& snapshot);

/// Fills in ranks, silent hosts and remarks of the report. `before` is an earlier snapshot, used to compute CPU use.
void fill_picture(const StackSnapshot& snapshot, const StackSnapshot& before, const plan::Plan& plan,
                  report::StackReport& picture);

/// The stacks of all threads of all ranks, for a file.
std::string whole_stacks(const StackSnapshot& snapshot, const plan::Plan& plan);

/// "ranks 0-2,4-7 wait; rank 3 is running"
std::string doing_text(const job::Verdict& verdict, const Worlds& worlds);

}  // namespace dlaunch::hangs
