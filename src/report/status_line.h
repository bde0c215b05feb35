// One line on the terminal while a start or an end takes long, and with the ranks' progress (--progress), rewritten in
// place and removed afterwards. Passive: the launcher updates it and calls tick() at its deadline. The line is removed
// before anything else is shown, and nothing is drawn while stderr has not taken all that was written. The streams must
// outlive it.
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

/// What the launcher is busy with. A value.
struct JobStatus {
  enum class Phase { running, starting, ending };
  Phase phase = Phase::running;
  std::optional<job::Reached> reached{};  ///< running: nothing is shown without it
  int started = 0;                        ///< starting: how many ranks of `total` have started
  int total = 0;
  std::string missing{};           ///< starting: hosts that are not ready, as ranges
  int round = 0;                   ///< starting: the round's number
  std::optional<Time> start_at{};  ///< starting: when the round begins, which waits for that
  std::string remark{};            ///< starting: text after the rest
  std::set<int> waiting{};         ///< ending: ids of the ranks that still run
  Worlds worlds{};                 ///< the world of each of these ids
  int signal = 0;                  ///< ending: the signal that was sent
  std::optional<Time> kill_at{};   ///< ending: when KILL is sent; none: it was sent
  bool operator==(const JobStatus&) const = default;
};

/// "starting: waiting for node[3-5]"; "starting: round 2 in 4 s"; "starting: 12 of 64 ranks (64 ranks on 2 CPUs: they
/// will share cores)"; "running: progress 120 (rank 3) to 480"; "ending: waiting for 3 ranks (TERM sent, KILL in 4 s):
/// 5,9,12"; empty for none. PURE.
std::string status_text(const JobStatus& status, Time now);

class StatusLine {
 public:
  static constexpr std::chrono::milliseconds kPatience{300};  ///< a shorter phase is not shown
  static constexpr std::chrono::milliseconds kBetween{100};   ///< the least time between two drawings

  /// Shows nothing where stderr is no terminal.
  explicit StatusLine(output::StandardStreams& streams);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void update(JobStatus status, Time now);

  /// When tick() must be called at the latest.
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
  Time due_;           // of the next drawing
  std::string shown_;  // the text on the terminal; empty: none
};

}  // namespace dlaunch::report
