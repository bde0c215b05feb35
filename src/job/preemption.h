// That whoever lent a job its hosts takes them back: a resource manager that needs them or whose time limit is near, a
// pod's end. With --checkpoint-signal the ranks save their state first. PURE.
//
// - A notice is USR1, USR2 or TERM, to the launcher or (TERM) to an agent. The first one begins it: the ranks that
// catch
//   the checkpoint signal get it, the others go on, and nothing is ended before the deadline: no rank's failure ends
//   the other ranks.
// - The deadline is --preempt-grace after the notice; else the end of the job, where the resource manager has said it
//   and it is less than kEndIsNear away; else Checkpoint::usual_grace. Then the ranks are ended as always: TERM, the
//   grace, KILL.
// - TERM within kSameNotice of the TERM before it is the same notice, since managers tell agents and launcher alike;
// from
//   a person at a terminal it is the second signal, which kills at once. Another TERM means that the end has come: the
//   deadline is the grace from then at the latest.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"

namespace dlaunch::job {

/// "SIGUSR1 from pid 42", "SIGTERM to an agent".
std::string describe(const Preempted& notice);

class Preemption {
 public:
  static constexpr std::chrono::seconds kSameNotice{2};
  static constexpr std::chrono::minutes kEndIsNear{10};

  explicit Preemption(const Policy& policy) : policy_(policy) {}

  /// Whether a signal from outside means this.
  bool announced_by(int signal) const;

  enum class Step { begin, none, kill };
  /// A notice came: what is to be done.
  Step told(const Preempted& notice, Time now);

  /// The first notice, and how long the ranks took; none: there was no notice.
  const std::optional<Preempted>& notice() const { return notice_; }
  /// When the ranks that still run are to be ended; none: no rank is saving its state.
  std::optional<Time> deadline() const { return deadline_; }
  /// No rank saves its state any more.
  void over(Time now);

 private:
  Time first_deadline(Time now) const;

  const Policy policy_;
  std::optional<Preempted> notice_;
  std::optional<Time> since_;
  std::optional<Time> deadline_;
  std::optional<Time> last_term_;
};

}  // namespace dlaunch::job
