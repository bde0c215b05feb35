// When the faults of a plan begin and end: told what the job does and when, it says what is due. PURE.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "chaos/fault.h"

namespace dlaunch::chaos {

class Schedule {
 public:
  explicit Schedule(const std::vector<Fault>& faults);

  /// All ranks of this round run.
  void round_began(int round, Time now);
  /// A line of the job's output, without its end.
  void line(std::string_view text, Time now);

  struct Due {
    size_t fault;  ///< its index
    bool ends;     ///< its time is over
  };
  /// In the order of their times. Each of them is then begun(), ended() or missed().
  std::vector<Due> due(Time now) const;
  /// When to ask again; empty: after the next call that tells something.
  std::optional<Time> next() const;

  void begun(size_t fault, Time now);
  void ended(size_t fault);
  /// What it was to meet was not there: it is due again in the next round.
  void missed(size_t fault);

 private:
  enum class State { waiting, missed, going_on, over };
  struct Planned {
    Fault fault;
    std::function<bool(std::string_view line)> matches;  ///< none: by time
    int lines = 0;
    State state = State::waiting;
    std::optional<Time> at = {};  ///< it begins then; while it goes on: it ends then
  };

  std::vector<Planned> planned_;
  bool ranks_run_ = false;
};

}  // namespace dlaunch::chaos
