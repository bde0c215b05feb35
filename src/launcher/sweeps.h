// Hosts that were lost after ranks had started there: each is reached once more, and another agent ends what the ranks
// left, known by the job's id. So many side by side as hosts are reached at one time, each bounded, all by the job.
// Owned by the launcher; hosts and loop must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "job/job.h"
#include "launcher/hosts.h"

namespace dlaunch::launcher {

class Sweeps {
 public:
  static constexpr std::chrono::seconds kReach{8};  ///< for an agent to be there
  static constexpr std::chrono::seconds kEnd{6};    ///< for what it finds to go, beyond the grace

  /// `swept` is never called from within begin().
  Sweeps(asio::io_context& io, Hosts& hosts, const JobOptions& settings,
         std::function<void(const job::HostSwept&)> swept);
  ~Sweeps();

  void begin(int host);
  /// Nothing is heard of it any more.
  void drop(int host);

 private:
  struct Sweep;
  void begin_next();
  void open(int host);
  void received(int host, const wire::Message& message);
  void limit(int host, std::chrono::milliseconds limit, const std::string& why);
  void end(int host, std::string unreached, std::vector<std::string> left);

  asio::io_context& io_;
  Hosts& hosts_;
  const JobOptions& settings_;
  const std::function<void(const job::HostSwept&)> swept_;
  std::map<int, std::shared_ptr<Sweep>> sweeps_;  // shared with what is posted, which may find it gone
  std::deque<int> queue_;
};

}  // namespace dlaunch::launcher
