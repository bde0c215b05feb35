// The start and end of the faults in a plan: events of the job and times go in, due faults come out. PURE.
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
