// What a program hears of its job while run() (run.h) runs it.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/outcome.h"
#include "dlaunch/output.h"

namespace dlaunch {

/// All calls come from the thread that called run(), one at a time; while one lasts, nothing is read from the ranks,
/// and after 15 s of it their agents take this process for dead. What a call throws ends the job and comes out of
/// run(). `id` is an index into Plan::ranks, or one past the last: the process beside the ranks, where the plan has
/// one.
class Listener {
 public:
  enum class Level { error, note, info, detail };  ///< detail is what -vv adds to -v

  virtual ~Listener() = default;

  /// A line of a rank without its end, as its bytes are; an unfinished one when its stream ends, and a piece of one
  /// that is longer than 64 KiB. Not for what a rank of this machine writes into a file by itself (FileSettings::copy).
  virtual void line(int /*id*/, output::Stream /*stream*/, std::string_view /*text*/) {}
  /// The job's progress may have changed; at least every 200 ms. With no ranks: hosts are asked before there is a plan,
  /// and none is missing once that is over.
  virtual void progress(const job::Progress& /*progress*/) {}
  /// Every rank of the job as it was planned has started: the records hold pids and, when asked for, the CPUs.
  virtual void all_started(const job::Outcome& /*outcome*/) {}
  /// What dlaunch would say on stderr, in whole lines that are printable. Never a variable's value.
  virtual void said(Level /*level*/, std::string_view /*lines*/) {}
};

}  // namespace dlaunch
