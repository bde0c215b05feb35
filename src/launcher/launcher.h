// Runs one planned job: turns what happens on links, streams, signals and clocks into events for Job, and carries out
// the actions that come back. It decides nothing itself. One thread; everything given must outlive it.
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
    plan::Plan& plan;  ///< spawned ranks are added
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;               ///< numbered as in the plan; or empty, in which case the plan's hosts are opened
    sys::ReservedPorts& ports;  ///< released before the first rank starts
    Listener& listener;         ///< told of progress, and that all ranks have started
    spdlog::logger& log;
  };

  explicit Launcher(asio::io_context& io, Parts parts);
  ~Launcher();

  /// Runs the job. Returns when nothing of it is left and every byte of output was taken or refused.
  job::Outcome run();

  /// The failure to write output that did not end the job; it was reported.
  const std::optional<Error>& output_lost() const;

  /// After run(): waits until a reader has taken what was printed since, as long as run() would, but only kLastWait for
  /// a job that gave its reader up. The rest is dropped.
  void write_out();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
