// One line on the terminal while a start or an end takes long, rewritten in place and gone when it is over. Passive:
// the launcher updates it and waits for its deadline. It goes before anything else is shown; while stderr has not taken
// all that was written before, nothing is drawn. The streams must outlive it.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "dlaunch/worlds.h"
#include "output/standard_streams.h"

namespace dlaunch::report {

/// What the launcher is busy with. A value.
struct JobStatus {
  enum class Phase { running, starting, ending };
  Phase phase = Phase::running;  ///< nothing is shown while the ranks run
  int started = 0;               ///< starting: so many ranks of `total`
  int total = 0;
  std::string missing{};          ///< starting: the hosts that are not ready, folded
  std::string remark{};           ///< starting: shown behind the rest
  std::set<int> waiting{};        ///< ending: for these ranks (ids)
  Worlds worlds{};                ///< of these ids
  int signal = 0;                 ///< ending: sent to the ranks, while `kill_at` is to come
  std::optional<Time> kill_at{};  ///< ending: KILL comes then; none: it was sent
  bool operator==(const JobStatus&) const = default;
};

/// "starting: waiting for node[3-5]"; "starting: 12 of 64 ranks (64 ranks on 2 CPUs: they will share cores)"; "ending:
/// waiting for 3 ranks (TERM sent, KILL in 4 s): 5,9,12"; empty for none. PURE.
std::string status_text(const JobStatus& status, Time now);

class StatusLine {
 public:
  static constexpr std::chrono::milliseconds kPatience{300};  ///< a shorter phase is never shown
  static constexpr std::chrono::milliseconds kBetween{100};   ///< two drawings, at least

  /// It never shows anything where stderr is no terminal.
  explicit StatusLine(output::StandardStreams& streams);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void update(JobStatus status, Time now);

  /// When tick() must be called at the latest.
  std::optional<Time> deadline() const;
  void tick(Time now);

  /// Takes the line off the terminal; the next tick() that is due brings it back.
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
  std::string shown_;  // what stands on the terminal; empty: nothing
};

}  // namespace dlaunch::report
