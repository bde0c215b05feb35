// One fault of a plan, WHAT:TARGET@WHEN[+FOR], for `dlaunch chaos` (docs/test-recovery.md). PURE.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"

namespace dlaunch::chaos {

using Milliseconds = std::chrono::milliseconds;

enum class FaultKind {
  kill,   ///< SIGKILL
  stop,   ///< SIGSTOP, and SIGCONT at the end
  cut,    ///< the link of a host carries no bytes but stays open, so that both sides see silence; an interface is down
  reset,  ///< the link of a host is closed
  /// the link of a host carries a limited number of bytes per second in each direction; an interface limits only
  /// sending
  slow,
  full,    ///< no file of the launcher grows beyond a size
  signal,  ///< any signal
};

struct FaultTarget {
  enum class Kind { rank, agent, link, launcher, output, interface } kind = Kind::rank;
  int rank = 0;
  std::string host = {};       ///< target agent or link
  std::string interface = {};  ///< of this machine, in the network namespace of dlaunch chaos
  bool any = false;            ///< instead of rank or host: the seed chooses at the time of the fault
  bool operator==(const FaultTarget&) const = default;
};

/// After the start of all ranks of a round, or at the n-th line of the job's output that matches.
struct When {
  Milliseconds time{0};
  int round = 0;
  std::string line = {};  ///< an expression of RE2, as in --progress; empty: by time
  int nth = 1;
  bool operator==(const When&) const = default;
};

struct Fault {
  FaultKind what = FaultKind::kill;
  FaultTarget target = {};
  When when = {};
  std::optional<Milliseconds> lasts = {};  ///< empty: until the end of the job
  long long bytes = 0;                     ///< slow: bytes per second; full: size of each file
  int signal = 0;                          ///< FaultKind::signal
  bool operator==(const Fault&) const = default;
};

/// `where` of an Error is empty.
Result<Fault> parse_fault(std::string_view text);

/// The text that parse_fault reads as the same fault.
std::string to_text(const Fault& fault);

/// "rank 3", "the agent of fake2", "the link of fake2", "the launcher".
std::string to_words(const FaultTarget& target);

// Decides when each fault of a plan starts and ends, from the events of the job and the time. PURE.

class Schedule {
 public:
  explicit Schedule(const std::vector<Fault>& faults);

  /// All ranks of this round run.
  void round_began(int round, Time now);
  /// A line of the job's output, without its newline.
  void line(std::string_view text, Time now);

  struct Due {
    size_t fault;  ///< index of the fault
    bool ends;     ///< its duration is over
  };
  /// Ordered by time. The caller then calls begun(), ended() or missed() for each.
  std::vector<Due> due(Time now) const;
  /// The next time for due(); empty: after the next event.
  std::optional<Time> next() const;

  void begun(size_t fault, Time now);
  void ended(size_t fault);
  /// The target was missing: due again in the next round.
  void missed(size_t fault);

 private:
  enum class State { waiting, missed, going_on, over };
  struct Planned {
    Fault fault;
    std::function<bool(std::string_view line)> matches;  ///< empty: by time
    int lines = 0;
    State state = State::waiting;
    std::optional<Time> at = {};  ///< start of the fault; during the fault: its end
  };

  std::vector<Planned> planned_;
  bool ranks_run_ = false;
};

}  // namespace dlaunch::chaos
