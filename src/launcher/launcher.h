// Runs one round of a planned job (job/rounds.h): turns what happens on links, streams, signals and clocks into events
// for Job, and carries out the actions that come back. It decides nothing itself. One thread; everything given must
// outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "output/output.h"
#include "sys/reserved_ports.h"

namespace dlaunch::launcher {

/// Adds the signals that are for a job: those of sys::kJobSignals that this process does not ignore, and in any case
/// JobOptions::stacks_on.
void take_signals(asio::signal_set& signals, const JobOptions& options);

class Launcher {
 public:
  struct Round {
    bool may_follow = false;            ///< another round may follow this one
    std::optional<Time> start_at = {};  ///< its ranks do not start earlier
  };
  struct Parts {
    plan::Plan& plan;  ///< spawned ranks are added
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;               ///< numbered as in the plan; or empty, in which case the plan's hosts are opened
    sys::ReservedPorts& ports;  ///< released before the first rank starts
    asio::signal_set& signals;  ///< those that are for the job: take_signals()
    Listener& listener;         ///< told of progress, and that all ranks have started
    spdlog::logger& log;
    Round round = {};
    std::map<int, std::string>* error_texts = nullptr;  ///< gets what ranks that failed wrote, of kMostErrorTexts ranks
  };
  static constexpr size_t kMostErrorTexts = 64;

  explicit Launcher(asio::io_context& io, Parts parts);
  ~Launcher();

  /// Runs the round. Returns when nothing of it is left and every byte of output was taken or refused. The hosts are
  /// closed then, unless the outcome says that it may be restarted.
  job::Outcome run();
  /// After run(), where another round may follow: carries out what the loop has ready for this object, which may be
  /// destroyed right then. Returns the outcome with what was heard meanwhile: a signal that means the end of the job, a
  /// host that is lost to the next round. What comes later waits for the next object.
  const job::Outcome& settle();

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
