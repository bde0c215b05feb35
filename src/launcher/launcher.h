// Runs one planned job: turns what happens on links, streams, signals and clocks into events for Job, and does the
// actions that come back. It decides nothing itself. One thread; everything given must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <optional>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "output/output.h"
#include "sys/reserved_ports.h"

namespace dlaunch::launcher {

class Launcher {
 public:
  struct Parts {
    plan::Plan& plan;  ///< grows by what ranks spawn
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;               ///< numbered as in the plan, or none yet: then the plan's are opened
    sys::ReservedPorts& ports;  ///< released before the first rank starts
    Listener& listener;         ///< hears of progress, and that all have started
    spdlog::logger& log;
  };

  explicit Launcher(asio::io_context& io, Parts parts);
  ~Launcher();

  /// Starts, carries, ends. Returns when nothing of the job is left and every byte of output was taken or refused.
  job::Outcome run();

  /// Output that could not be written where that did not end the job; it has been told.
  const std::optional<Error>& output_lost() const;

  /// After run(): waits for a reader to take what was said since, as long as run() would wait for it; a job that has
  /// given up its reader waits kLastWait. What is not taken is left.
  void write_out();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
