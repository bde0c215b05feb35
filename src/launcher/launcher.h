// Runs one planned job: turns what happens on links, streams, signals and clocks into events for Job, and does the
// actions that come back. It decides nothing itself. One thread; everything given must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "launcher/hosts.h"
#include "launcher/settings.h"
#include "launcher/spawner.h"
#include "output/output.h"

namespace dlaunch::launcher {

class Launcher {
 public:
  struct Parts {
    plan::Plan& plan;  ///< grows by what ranks spawn
    const LauncherSettings& settings;
    const job::Policy& policy;
    output::Output& output;
    Hosts& hosts;  ///< numbered as in the plan, or none yet: then the plan's are opened
    spdlog::logger& log;
    /// Output that cannot be written, where that does not end the job. May be empty.
    std::function<void(const Error&)> output_lost;
    /// Called when the job's progress may have changed, and every kProgressTick while it lasts. May be empty.
    std::function<void(const job::Progress&)> progress;
    /// Every rank of the job as it was started has: the records hold pids and, when asked for, the CPUs. May be empty.
    std::function<void(const job::Outcome&)> all_started;
    /// Called before each time that a host is told to start its ranks. May be empty.
    std::function<void()> before_start = {};
    /// Asked before ranks are spawned. May be empty.
    MayHold may_hold = {};
    /// Where dlaunch-pmix is on this machine; empty: there is none.
    std::string pmix_program = {};
  };

  explicit Launcher(asio::io_context& io, Parts parts);
  ~Launcher();

  /// Starts, carries, ends. Returns when nothing of the job is left and every byte of output was taken or refused.
  job::Outcome run();

  /// After run(): waits for a reader to take what was said since, as long as run() would wait for it; a job that has
  /// given up its reader waits kLastWait. What is not taken is left.
  void write_out();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
