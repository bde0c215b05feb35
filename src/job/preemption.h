// Preemption: a batch system takes the job's hosts back (priority, time limit, the end of a pod). With
// --checkpoint-signal the ranks may save their state first. PURE. Owned by Job.
//
// - A notice is USR1, USR2 or TERM, to the launcher or to an agent. After the first notice, ranks with a handler get
//   the checkpoint signal and the other ranks continue. No rank is stopped before the deadline, also not because
//   another rank failed.
// - The deadline is --preempt-grace after the notice. Without the option: the end of the job, if the batch system has
//   reported it and it is less than kEndIsNear away; else Checkpoint::usual_grace. After TERM the deadline is at most
//   kTermGrace away, because KILL follows soon (Slurm and Kubernetes: 30 s). At the deadline the ranks are stopped as
//   usual: TERM, grace, KILL.
// - Some batch systems signal an agent and its ranks together (Checkpoint::by_step). If the notice is the checkpoint
//   signal itself, these ranks already have it. Slurm with proctrack/cgroup signals only the agent's parent, which
//   forwards the signal (HostTermination::direct is false): the ranks do not have it. The other ranks get it
//   kOthersTold later, when all such hosts have reported. A USR1 or USR2 to the launcher does not reach ranks and gets
//   no such delay.
// - A second TERM within kSameNotice is the same notice: batch systems signal agents and launcher together. From a user
//   at a terminal it is the second signal, which kills at once. A later TERM shortens the deadline to now plus the
//   grace.
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

  /// Returns true if this signal to dlaunch or to an agent announces a preemption.
  bool announced_by(int signal) const;

  enum class Step { begin, none, kill };
  /// Takes a notice and returns the next step.
  Step notify(const Preempted& notice, Time now);

  /// The agent of `host` got a signal.
  void add_signalled(int host, int signal);
  /// When to send the checkpoint signal; none: at once, or already sent.
  std::optional<Time> ask_at() const { return ask_at_; }
  /// The checkpoint signal is sent now. Returns the hosts with ranks that already have the signal.
  std::set<int> take_signalled();

  /// The first notice, with the time that the ranks used; none: no notice yet.
  const std::optional<Preempted>& notice() const { return notice_; }
  /// The time of the first notice.
  const std::optional<Time>& since() const { return since_; }
  /// When to stop the ranks that still run; none: no rank is saving its state.
  std::optional<Time> deadline() const { return deadline_; }
  /// The time to save state is over.
  void over(Time now);

 private:
  Time first_deadline(int signal, Time now) const;
  bool may_reach_ranks(const Preempted& notice) const;

  const Policy policy_;
  std::optional<Preempted> notice_;
  std::optional<Time> since_;
  std::optional<Time> deadline_;
  std::optional<Time> last_term_;
  std::optional<Time> ask_at_;
  std::set<int> signalled_;  // hosts whose ranks have the checkpoint signal
};

}  // namespace dlaunch::job
