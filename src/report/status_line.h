// StatusLine: one line on the terminal about a slow start, a slow end, running ranks that print nothing, or the ranks'
// progress (--progress). The line is below the cursor: the terminal echoes on another line what a person types. The
// line is redrawn in place and removed before any other output. Not drawn while stderr has queued bytes. Passive: the
// launcher updates the line and calls tick() at its deadline. The streams must outlive this object.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/worlds.h"
#include "output/standard_streams.h"

namespace dlaunch::report {

/// The current phase of the job, as a plain value.
struct JobStatus {
  enum class Phase { running, starting, ending };
  Phase phase = Phase::running;
  int live = 0;                           ///< running: number of ranks that run, of `total`; 0: no line is shown
  int hosts = 0;                          ///< running
  std::optional<Time> since{};            ///< running: the start of the ranks
  std::uint64_t bytes = 0;                ///< running: of the ranks' output until now
  bool disk_waits = false;                ///< running or ending: a file does not accept output
  std::optional<job::Reached> reached{};  ///< running
  std::string bars{};                     ///< running: the progress bars of the ranks; shown in place of the counts
  int started = 0;                        ///< starting: number of started ranks, of `total`
  int total = 0;
  std::string missing{};           ///< starting: hosts that are not ready, as ranges
  int round = 0;                   ///< the round's number; 0: the first
  std::optional<Time> start_at{};  ///< starting: when a delayed round begins
  std::string remark{};            ///< starting: text at the end of the line
  std::set<int> waiting{};         ///< ending: ids of the ranks that still run
  Worlds worlds{};                 ///< the worlds of the ranks in `waiting`
  int signal = 0;                  ///< ending: the signal that was sent
  std::optional<Time> kill_at{};   ///< ending: when KILL follows; none: KILL was sent
  bool operator==(const JobStatus&) const = default;
};

/// "starting: waiting for node[3-5]"; "starting: round 2 in 4 s"; "starting: 12 of 64 ranks (64 ranks on 2 CPUs: they
/// will share cores)"; "12/16 running · 00:41 · 2 hosts · progress 120 (rank 3) to 480 · 3.1 MB/s"; "ending: waiting
/// for 3 ranks (TERM sent, KILL in 4 s): 5,9,12". Empty if there is no line to show. `rate`: bytes per second. PURE.
std::string status_text(const JobStatus& status, Time now, double rate = 0);

/// Measures the rate of a counter over the last seconds. A passive value.
class Rate {
 public:
  /// Per second, since a moment that is between one and two seconds ago.
  double at(std::uint64_t count, Time now);

 private:
  struct Mark {
    Time at;
    std::uint64_t count;
  };
  std::optional<Mark> older_, newer_;
};

/// --status.
struct StatusSettings {
  bool drawn = true;
  /// The line about running ranks is drawn if the terminal got no output for this time.
  std::chrono::milliseconds quiet{2000};
};

class StatusLine {
 public:
  static constexpr std::chrono::milliseconds kPatience{300};     ///< shorter phases are not shown
  static constexpr std::chrono::milliseconds kBetween{100};      ///< minimum time between two redraws
  static constexpr std::chrono::milliseconds kBetweenBars{250};  ///< the same, for the progress bars

  /// Draws only if stderr is a terminal.
  explicit StatusLine(output::StandardStreams& streams, const StatusSettings& settings = {});
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
  Time earliest(Time now);
  bool may_draw() const;
  bool in_foreground() const;
  int columns() const;

  output::StandardStreams& streams_;
  const int fd_;
  const bool terminal_;
  const std::chrono::milliseconds quiet_;
  const bool to_pipe_;  // stdout: its reader may print an unfinished line on the terminal
  JobStatus status_;
  Rate rate_;
  Time due_;                   // of the next redraw
  Time drawn_;                 // the last redraw
  std::uint64_t written_ = 0;  // bytes on the terminal
  Time quiet_since_;           // the terminal got no other output since this time
  std::string shown_;          // the text on the terminal; may be empty
};

}  // namespace dlaunch::report
