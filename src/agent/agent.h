// The agent process on each host: starts the ranks that the launcher requests, forwards their streams, reports their
// ends, and removes all remains of the job. If the link to the launcher ends, or the agent's lease (link/heartbeat.h),
// the agent sends TERM to all processes, KILL after the grace period, and exits. The Agent owns processes and the order
// of messages; each feature is a Task (task.h). One thread, one loop; owned by `main`. The process must be a subreaper.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_tag.h"
#include "agent/children.h"
#include "agent/host_inspector.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "agent/launcher_watch.h"
#include "agent/rank_dirs.h"
#include "agent/ranks.h"
#include "agent/reaper.h"
#include "agent/shared_memory.h"
#include "agent/task.h"
#include "agent/termination_notices.h"
#include "agent/workdir_setup.h"
#include "hangs/stack_sampler.h"
#include "link/link.h"
#include "link/signals.h"
#include "mpi/mpi_service.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

class Agent {
 public:
  /// `in` and `out`: the link to the launcher. `open_files`: the ranks' limit. `files`, `cgroup` and `tag` must outlive
  /// this object.
  Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup,
        AgentTag& tag);

  /// Returns the process's exit code when the job's processes and files are gone, or cannot be removed. `guardian`: the
  /// parent process; its death is not a message of the launcher.
  int run(pid_t guardian);

 private:
  /// The tasks of one round of ranks.
  struct Round {
    explicit Round(Agent& agent);

    SharedMemory memory;
    Reaper reaper;
    WorkdirSetup workdir_setup;
    mpi::MpiService mpi;
    Ranks ranks;
    bool killed = false;  // the grace period is over, also for processes that the ranks left
  };

  /// The tasks, in the order in which they receive messages.
  std::array<Task*, 8> tasks();

  // ---- messages of the launcher ----
  void received(wire::Message& message);
  void on(wire::Setup& setup);
  void on(const wire::Layout& layout);
  void on(const wire::Signal& signal);
  void on(const wire::Finish& finish);
  void on(const wire::Sweep& sweep);
  void on(const wire::ReadClock& question);
  /// Ignores messages of agents, and messages that a task handles without consuming them.
  template <class Other>
  void on(const Other&) {}

  // ---- processes ----
  void wait_signal();
  void reap();
  std::chrono::milliseconds grace() const { return std::chrono::milliseconds(round_->killed ? 0 : setup_.grace_ms); }

  // ---- ends ----
  void stop_tasks();
  std::vector<std::string> remove_files(std::vector<std::string> left);
  void end_round(std::vector<std::string> left);
  void leave(std::vector<std::string> left);
  void launcher_lost(const std::string& why, std::uint8_t level = wire::Log::kError);

  asio::io_context& io_;
  link::Link link_;
  link::Signals signals_;
  const rlimit open_files_;
  JobDirectory& files_;
  JobCgroup& cgroup_;
  AgentTag& tag_;
  LauncherWatch watch_;
  TerminationNotices notices_;
  Children children_;
  HostInspector inspector_;
  CommandRunner command_runner_;
  hangs::StackSampler stack_sampler_;
  RankDirs rank_dirs_;
  std::unique_ptr<Round> round_;
  wire::Setup setup_;
  bool clean_sent_ = false;
  bool lost_ = false;  // the launcher; the agent ends its ranks
  int exit_code_ = 0;
};

}  // namespace dlaunch::agent
