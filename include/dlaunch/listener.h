// Callbacks through which run() (run.h) reports the output and the progress of a job.
#pragma once

#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/outcome.h"
#include "dlaunch/output.h"

namespace dlaunch {

/// The thread that called run() makes all calls, one at a time. During a call, dlaunch does not read from the ranks or
/// answer the agents. An agent ends its ranks after JobOptions::pause_limit (in some jobs: four heartbeats) without an
/// answer. If a callback throws an exception, the job ends, and run() throws this exception. `id` is an index into
/// Plan::ranks. The sidecar or the first spawned rank has the next number.
class Listener {
 public:
  enum class Level { error, note, info, detail };  ///< detail: the lines that only -vv prints

  virtual ~Listener() = default;

  /// A line of a rank, byte for byte, without its newline. The last line of a stream may be incomplete. The listener
  /// receives a line of more than 64 KiB in pieces, and does not receive output that a rank writes to its own file
  /// (FileSettings::copy).
  virtual void line(int /*id*/, output::Stream /*stream*/, std::string_view /*text*/) {}
  /// The progress of the job may have changed; called at least every 200 ms. `ranks` is 0 while hosts are queried
  /// before the plan; `missing_hosts` is empty once all hosts have answered.
  virtual void progress(const job::Progress& /*progress*/) {}
  /// Every planned rank has started. The records of `outcome` have the pids and, if requested, the CPUs.
  virtual void all_started(const job::Outcome& /*outcome*/) {}
  /// Complete and printable lines that the command dlaunch prints on stderr. Lines never contain values of variables.
  virtual void said(Level /*level*/, std::string_view /*lines*/) {}
};

}  // namespace dlaunch
