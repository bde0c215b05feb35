// Ends all descendants of this process, or all of the job's processes on this host: TERM, the grace period, KILL, until
// all have ended or a time limit is reached. Owned by the Agent.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/job_cgroup.h"
#include "base/lifetime.h"
#include "base/time.h"
#include "sys/descendants.h"

namespace dlaunch::agent {

inline constexpr std::chrono::seconds kSweepKillWait{5};    ///< for processes in uninterruptible sleep
inline constexpr std::chrono::seconds kAgentsWait{2};       ///< for older agents to end after KILL
inline constexpr std::chrono::milliseconds kSweepPoll{20};  ///< new children may appear while old children end
inline constexpr std::ptrdiff_t kMostNamed = 500;           ///< maximum number of listed processes

/// The note for the user if /proc does not show the processes of this pid namespace; else empty.
std::string unseen_note();

class Reaper {
 public:
  /// `cgroup` is the job's group, killed as a whole after the grace period; it must outlive this object. `reaped`
  /// receives the pids of children that end meanwhile.
  Reaper(asio::io_context& io, const JobCgroup& cgroup, std::function<void(int)> reaped = {})
      : timer_(io), cgroup_(cgroup), reaped_(std::move(reaped)) {}

  /// All processes of the job on this host.
  struct Target {
    std::vector<std::string> entries;  ///< a rank has all these entries in its environment, or is in a control group
    std::function<std::vector<sys::Process>()> agents = {};  ///< finds agents, which could start more ranks
    std::function<void()> agents_ended = {};                 ///< called once, before the first search for ranks
  };
  /// From now on ends these processes instead of descendants. The agents get KILL at once.
  void aim_at(Target target) { target_ = std::move(target); }

  /// `done` receives a line for each process that could not be ended, at most kMostNamed; an empty list means success.
  /// A second call only replaces `done`. `kill_wait`: for processes to end after KILL.
  void start(std::chrono::milliseconds grace, std::function<void(std::vector<std::string> left)> done,
             std::chrono::seconds kill_wait = kSweepKillWait);
  /// Ends the grace period.
  void hurry();
  /// Children were reaped, so all may have ended. Cheap.
  void children_changed(bool none_left);
  bool running() const { return running_; }

 private:
  void step();
  void poll();
  bool end_agents(Clock::time_point now);
  std::vector<sys::Process> found() const;
  void finish(std::vector<std::string> left);

  asio::steady_timer timer_;
  const JobCgroup& cgroup_;
  const std::function<void(int)> reaped_;
  std::function<void(std::vector<std::string>)> done_;
  Target target_;
  std::vector<sys::Process> agents_;  // got KILL and have not ended
  Clock::time_point agents_by_;
  const bool own_pids_ = sys::proc_shows_own_pids();
  bool running_ = false;
  bool termed_ = false;
  Clock::time_point kill_at_;
  std::optional<Clock::time_point> killed_at_;  // later than kill_at_ if this process was stopped
  std::chrono::seconds kill_wait_{};
  const Lifetime lifetime_;
};

}  // namespace dlaunch::agent
