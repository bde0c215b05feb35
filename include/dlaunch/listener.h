// What run() (run.h) tells a program of its job.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/outcome.h"
#include "dlaunch/output.h"

namespace dlaunch {

/// All calls come from the thread that called run(), one at a time. While a call lasts, nothing is read from the ranks,
/// and after 15 s their agents take this process for dead. An exception from a call ends the job and comes out of
/// run(). `id` is an index into Plan::ranks, or one past the last for the sidecar, where the plan has one.
class Listener {
 public:
  enum class Level { error, note, info, detail };  ///< detail is what -vv adds to -v

  virtual ~Listener() = default;

  /// A line of a rank, byte for byte, without its newline. The last line of a stream may be incomplete, and a line of
  /// more than 64 KiB comes in pieces. What a rank writes into a file by itself (FileSettings::copy) is not told.
  virtual void line(int /*id*/, output::Stream /*stream*/, std::string_view /*text*/) {}
  /// The job's progress may have changed; called at least every 200 ms. Without ranks in it: hosts are being asked
  /// before there is a plan, and `missing_hosts` is empty once they have answered.
  virtual void progress(const job::Progress& /*progress*/) {}
  /// Every rank of the job as planned has started: the records hold pids and, when asked for, the CPUs.
  virtual void all_started(const job::Outcome& /*outcome*/) {}
  /// What dlaunch would print on stderr, in whole, printable lines. Never a variable's value.
  virtual void said(Level /*level*/, std::string_view /*lines*/) {}
};

}  // namespace dlaunch
