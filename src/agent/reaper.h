// Ends everything that descends from this process, or that the job left on this host: TERM, the grace, KILL, until
// nothing is left or it gives up.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/job_cgroup.h"
#include "base/time.h"
#include "sys/descendants.h"

namespace dlaunch::agent {

inline constexpr std::chrono::seconds kSweepKillWait{5};    ///< for processes in uninterruptible sleep
inline constexpr std::chrono::milliseconds kSweepPoll{20};  ///< new children may appear while old ones are ended
inline constexpr std::ptrdiff_t kMostNamed = 500;           ///< processes that are left

class Reaper {
 public:
  /// `cgroup` is the job's, which is killed as one when the grace is over; it must
  /// outlive this. `reaped` gets the pids of children that end meanwhile.
  Reaper(asio::io_context& io, const JobCgroup& cgroup, std::function<void(int)> reaped = {})
      : timer_(io), cgroup_(cgroup), reaped_(std::move(reaped)) {}

  /// From now on ends all processes of this host that hold all these entries in their environment or are in the job's
  /// control groups, instead of descendants.
  void aim_at(std::vector<std::string> entries) { entries_ = std::move(entries); }

  /// `done` gets a line for each process that could not be ended, at most kMostNamed; none means that nothing is left.
  /// Another call only replaces `done`.
  void start(std::chrono::milliseconds grace, std::function<void(std::vector<std::string> left)> done);
  /// Ends the grace.
  void hurry();
  /// Children were reaped, so that it may be over. Cheap.
  void children_changed(bool none_left);
  bool running() const { return running_; }

 private:
  void step();
  std::vector<sys::Process> found() const;
  void finish(std::vector<std::string> left);

  asio::steady_timer timer_;
  const JobCgroup& cgroup_;
  const std::function<void(int)> reaped_;
  std::function<void(std::vector<std::string>)> done_;
  std::vector<std::string> entries_;
  bool running_ = false;
  bool termed_ = false;
  Clock::time_point kill_at_;
};

}  // namespace dlaunch::agent
