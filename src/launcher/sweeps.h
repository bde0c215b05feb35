// Cleans up hosts that were lost after ranks had started there: connects to each host again, and a new agent ends all
// processes with the job's id. A connection that fails is repeated for kReach. The number of parallel sweeps is the
// limit of parallel connections; each is bounded in time. Owned by the Launcher; hosts and loop must outlive this
// object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/lifetime.h"
#include "job/job.h"
#include "launcher/hosts.h"

namespace dlaunch::launcher {

class Sweeps {
 public:
  static constexpr std::chrono::seconds kReach{8};         ///< for an agent to answer, all attempts together
  static constexpr std::chrono::milliseconds kPause{500};  ///< between two attempts
  static constexpr std::chrono::seconds kEnd{6};           ///< for processes to end, in addition to the grace period

  /// `happened` gets HostSwept and SweepDelayed, and is never called from within begin().
  Sweeps(asio::io_context& io, Hosts& hosts, const JobOptions& settings,
         std::function<void(const job::Event&)> happened);
  ~Sweeps();

  void begin(int host);
  /// From now on this host is not reported.
  void drop(int host);

 private:
  struct Sweep;
  void begin_next();
  void watch(int host);
  void attempt(int host);
  /// The attempt failed. Makes another attempt if time is left.
  void failed(int host, const std::string& why);
  void timed_out(int host);
  void received(int host, const wire::Message& message);
  void limit(int host, Time until, const std::string& why);
  void end(int host, std::string unreached, std::vector<std::string> left, bool by_manager = false);

  asio::io_context& io_;
  Hosts& hosts_;
  const JobOptions& settings_;
  const std::function<void(const job::Event&)> happened_;
  std::map<int, std::shared_ptr<Sweep>> sweeps_;  // shared with posted calls, which may run after the sweep is gone
  std::deque<int> queue_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
