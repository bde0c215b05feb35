// StatusLine: one line on the terminal about a slow start, a slow end, or the ranks' progress (--progress). The line is
// redrawn in place and removed before any other output. Not drawn while stderr has queued bytes. Passive: the launcher
// updates the line and calls tick() at its deadline. The streams must outlive this object.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/worlds.h"
#include "output/standard_streams.h"

namespace dlaunch::report {

/// The current phase of the job, as a plain value.
struct JobStatus {
  enum class Phase { running, starting, ending };
  Phase phase = Phase::running;
  std::optional<job::Reached> reached{};  ///< running: no line is shown if empty
  int started = 0;                        ///< starting: number of started ranks, of `total`
  int total = 0;
  std::string missing{};           ///< starting: hosts that are not ready, as ranges
  int round = 0;                   ///< starting: the round's number
  std::optional<Time> start_at{};  ///< starting: when a delayed round begins
  std::string remark{};            ///< starting: text at the end of the line
  std::set<int> waiting{};         ///< ending: ids of the ranks that still run
  Worlds worlds{};                 ///< the worlds of the ranks in `waiting`
  int signal = 0;                  ///< ending: the signal that was sent
  std::optional<Time> kill_at{};   ///< ending: when KILL follows; none: KILL was sent
  bool operator==(const JobStatus&) const = default;
};

/// "starting: waiting for node[3-5]"; "starting: round 2 in 4 s"; "starting: 12 of 64 ranks (64 ranks on 2 CPUs: they
/// will share cores)"; "running: progress 120 (rank 3) to 480"; "ending: waiting for 3 ranks (TERM sent, KILL in 4 s):
/// 5,9,12". Empty if there is no line to show. PURE.
std::string status_text(const JobStatus& status, Time now);

class StatusLine {
 public:
  static constexpr std::chrono::milliseconds kPatience{300};  ///< shorter phases are not shown
  static constexpr std::chrono::milliseconds kBetween{100};   ///< minimum time between two redraws

  /// Draws only if stderr is a terminal.
  explicit StatusLine(output::StandardStreams& streams);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void update(JobStatus status, Time now);

  /// The latest time to call tick().
  std::optional<Time> deadline() const;
  void tick(Time now);

  /// Removes the line from the terminal; the next tick() that is due draws it again.
  void clear();

 private:
  bool may_draw() const;
  bool in_foreground() const;
  int columns() const;

  output::StandardStreams& streams_;
  const int fd_;
  const bool terminal_;
  JobStatus status_;
  Time due_;           // of the next redraw
  std::string shown_;  // the text on the terminal; may be empty
};

}  // namespace dlaunch::report
