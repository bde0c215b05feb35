// That whoever lent a job its hosts takes them back: a resource manager that needs them or whose time limit is near, a
// pod's end. With --checkpoint-signal the ranks save their state first. PURE.
//
// - A notice is USR1, USR2 or TERM, to the launcher or to an agent. The first one begins it: the ranks that catch the
//   checkpoint signal get it, the others go on, and nothing is ended before the deadline: no rank's failure ends the
//   other ranks.
// - The deadline is --preempt-grace after the notice; else the end of the job, where the resource manager has said it
//   and it is less than kEndIsNear away; else Checkpoint::usual_grace. After TERM it is kTermGrace at the latest: who
//   sends that sends KILL soon, Slurm and Kubernetes in 30 s. Then the ranks are ended as always: TERM, the grace,
//   KILL.
// - Where who signals an agent signals its ranks, too (Checkpoint::by_step), and the notice is the checkpoint signal
//   itself, ranks have got it. The others are sent it kOthersTold later, when the news of all such hosts is there. A
//   USR1 or USR2 to the launcher, which no rank gets, is no such notice.
// - TERM within kSameNotice of the TERM before it is the same notice, since managers tell agents and launcher alike;
//   from a person at a terminal it is the second signal, which kills at once. Another TERM means that the end has come:
//   the deadline is the grace from then at the latest.
#pragma once

#include <optional>
#include <set>
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
  static constexpr std::chrono::seconds kTermGrace{25};
  static constexpr std::chrono::milliseconds kOthersTold{2000};

  explicit Preemption(const Policy& policy) : policy_(policy) {}

  /// Whether a signal from outside means this.
  bool announced_by(int signal) const;

  enum class Step { begin, none, kill };
  /// A notice came: what is to be done.
  Step told(const Preempted& notice, Time now);

  /// An agent got this signal.
  void told_at(int host, int signal);
  /// When the ranks are to be sent the checkpoint signal; none: at once, or it was done.
  std::optional<Time> ask_at() const { return ask_at_; }
  /// The ranks are sent it now, but for those on the hosts that are returned, which have it.
  std::set<int> asked();

  /// The first notice, and how long the ranks took; none: there was no notice.
  const std::optional<Preempted>& notice() const { return notice_; }
  /// When the ranks that still run are to be ended; none: no rank is saving its state.
  std::optional<Time> deadline() const { return deadline_; }
  /// No rank saves its state any more.
  void over(Time now);

 private:
  Time first_deadline(int signal, Time now) const;
  bool may_be_told_to_ranks(const Preempted& notice) const;

  const Policy policy_;
  std::optional<Preempted> notice_;
  std::optional<Time> since_;
  std::optional<Time> deadline_;
  std::optional<Time> last_term_;
  std::optional<Time> ask_at_;
  std::set<int> told_;  // hosts whose ranks have the checkpoint signal
};

}  // namespace dlaunch::job
