// Runs one round of a planned job (job/rounds.h): turns events on links, streams, signals and clocks into events for
// Job, and performs the resulting actions. All decisions are made in Job. Created by JobRun, one for each round. One
// thread; all constructor arguments must outlive this object.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "link/signals.h"
#include "output/output.h"
#include "sys/reserved_ports.h"

namespace dlaunch::launcher {

/// Adds the signals of a job: the signals in sys::kJobSignals that this process does not ignore, and always
/// JobOptions::stacks_on.
void take_signals(link::Signals& signals, const JobOptions& options);

class Launcher {
 public:
  struct Round {
    bool may_follow = false;            ///< another round may follow this one
    std::optional<Time> start_at = {};  ///< the earliest start of its ranks
  };
  struct Parts {
    plan::Plan& plan;  ///< spawned ranks are added
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;               ///< numbered as in the plan; if empty, the plan's hosts are opened
    sys::ReservedPorts& ports;  ///< released before the first rank starts
    link::Signals& signals;     ///< the job's signals: take_signals()
    Listener& listener;         ///< receives progress, and the start of all ranks
    spdlog::logger& log;
    Round round = {};
    std::map<int, std::string>* error_texts =
        nullptr;  ///< receives the error texts of failed ranks, for at most kMostErrorTexts ranks
  };
  static constexpr size_t kMostErrorTexts = 64;

  explicit Launcher(asio::io_context& io, Parts parts);
  ~Launcher();

  /// Runs the round. Returns when all parts of the round have ended and every byte of output was taken or refused.
  /// Closes the hosts, unless the outcome allows a restart.
  job::Outcome run();
  /// Call after run() if another round may follow: runs the handlers that are ready in the loop; afterwards this object
  /// may be destroyed. Returns the outcome, updated with events since run(): a signal that ends the job, or a host that
  /// is lost to the next round. Later events wait for the next object.
  const job::Outcome& settle();

  /// The failure to write output that did not end the job; already reported.
  const std::optional<Error>& output_lost() const;

  /// Call after run(): waits until a reader has taken the lines printed since then. Waits as long as run(), but at most
  /// kLastWait if the job did not wait for its reader. Drops the remaining lines.
  void write_out();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
