// The policy of one job as a state machine: what happens next, when to end the ranks, the exit code. PURE: events and
// the time go in, actions come out, and others do them.
//
//   starting ──all hosts ready──► running ─every rank ended, drained─► finishing ──every host clean──► finished
//       │                            │                                     ▲
//       └── failure, signal, timeout ┴──► ending: signal, grace, KILL ──────┘
//
// Rules
// - Ranks start when every host is ready: a job that cannot start everywhere starts nowhere. After the first host that
//   cannot be used, the others have kOthersWait to answer, so that all failures are reported together.
// - The first failure (by the time at its host) ends all ranks, unless the policy says continue. Its code is the job's.
// - MPI_Abort is a failure at the time of the call (see job/rank_states.h), and ends all ranks whatever the policy
//   says.
// - Ending is the signal (TERM, or the user's own), KILL after the grace, and after kKillWait the ranks that still run
//   are given up and named. A second signal from the user means KILL at once.
// - Ranks that a rank spawns are treated as all others, from their start to their end. A host that has no rank yet is
//   connected to first.
// - A host that is told to end by somebody else ends the job as that signal to the launcher does: whoever takes a part
//   away takes the job. Ranks that the same signal ended right before are no failures.
// - A sidecar that fails while the ranks run ends all, as a rank would.
// - A host that is lost after ranks have started there is swept: another agent ends what they left (HostSwept), or the
//   host is named. The job's end waits for that.
// - With --wait-after-first the ranks that still run so long after the first one has ended are ended.
// - Where another round may follow (job/rounds.h), the hosts of one that failed confirm that nothing of it is left, and
//   stay. Whatever means the end of the job itself, as a signal of the user, means the end of that.
// - With --checkpoint-signal a signal that announces the end of the hosts, here or to an agent, lets the ranks save
//   their state first (job/preemption.h).
// - A job that hangs ends where the policy says so, as a failure of the job.
// - Every wait has a deadline, a host's answer by its link, the others here. The one exception is a slow reader of what
//   ended ranks wrote, which the user's second signal ends. After --timeout, a signal that no terminal sends, or a
//   second signal before that wait, it has a deadline, too: kReaderWait without progress, kReaderMost in all.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"
#include "job/events.h"
#include "job/host_states.h"
#include "job/preemption.h"
#include "job/rank_states.h"

namespace dlaunch::job {

/// Whether the user means this signal to end the job; any other is passed on to the ranks.
bool ends_a_job(int signal);

inline constexpr std::chrono::seconds kOthersWait{5};   ///< for hosts to answer when one cannot be used
inline constexpr std::chrono::seconds kSidecarWait{5};  ///< for the sidecar to end after the ranks
inline constexpr std::chrono::seconds kKillWait{5};     ///< for a rank to go after KILL (uninterruptible sleep)
inline constexpr std::chrono::seconds kFinishWait{
    10};                                               ///< for a host to confirm that nothing is left, beyond the grace
inline constexpr std::chrono::seconds kReaderWait{5};  ///< for a reader of the output to take some of it
inline constexpr std::chrono::seconds kReaderMost{30};  ///< for it to take everything

inline constexpr std::chrono::seconds kStacksWait{2};  ///< for what the ranks do to be shown, before they are ended
inline constexpr size_t kMostHangs = 100;              ///< that the outcome names
inline constexpr std::chrono::seconds kSweepWait{15};  ///< for a lost host to be swept, beyond the grace

class Job {
 public:
  /// `host_of_rank[r]` is the index of the host on which rank r runs.
  Job(const Policy& policy, const std::vector<int>& host_of_rank, const std::vector<std::string>& host_names, Time now);

  /// Another round may follow: where the ranks, a host or the sidecar fail, the hosts stay, and Outcome::may_restart
  /// says so.
  void allow_restart() { restart_allowed_ = true; }
  /// The ranks do not start before this time.
  void start_not_before(Time time) { start_at_ = time; }
  /// What the ranks do is shown before they are ended by --timeout, or after one of them was killed by a signal of its
  /// own fault where no round may follow: once in a job.
  void show_stacks_first() { stacks_first_ = true; }
  /// The job has a sidecar. It ends with the ranks: after the last one it has `wait` to end by itself.
  void expect_sidecar(std::chrono::seconds wait = kSidecarWait) {
    sidecar_expected_ = true;
    sidecar_wait_ = wait;
  }

  Actions handle(const Event& event, Time now);
  /// Output came from a host. No host is given up meanwhile, because on a slow line output arrives before the news that
  /// its ranks have ended; the credit bounds it.
  void heard_output(Time now);
  /// The reader of the output took some of it.
  void reader_took_some(Time now);
  /// Whether this signal would be the second one that asks the job to end. What ends a host may signal us, too.
  bool is_repeated(int signal) const {
    return phase_ >= Phase::ending && ends_a_job(signal) && !told_at_host_ && !preemption_.announced_by(signal);
  }
  /// When tick() must be called at the latest.
  std::optional<Time> deadline() const;
  Actions tick(Time now);

  Phase phase() const { return phase_; }
  /// No rank runs any more; what they wrote may still be on its way.
  bool ranks_ended() const { return phase_ > Phase::starting && ranks_.live() == 0; }
  /// The job is preempted, and its ranks save their state: nothing ends them now.
  bool saves() const { return preemption_.deadline().has_value(); }
  /// Whether HostAdded and RanksAdded may come now: a job that has not begun, or is ending, takes no more ranks.
  bool may_grow() const { return phase_ == Phase::running && ranks_.live() > 0; }
  /// The ranks that were asked to start and have not ended.
  std::set<int> running() const { return ranks_.running(); }
  Progress progress() const;
  const Outcome& outcome() const { return outcome_; }

 private:
  void on(const HostReady& event, Time now);
  void on(const HostLost& event, Time now);
  void on(const HostTermination& event, Time now);
  void on(const RankStarted& event, Time now);
  void on(const RankEnded& event, Time now);
  void on(const RankAborted& event, Time now);
  void on(const HostAdded& event, Time now);
  void on(const RanksAdded& event, Time now);
  void on(const RankDrained& event, Time now);
  void on(const SidecarEnded& event, Time now);
  void on(const SidecarGone& event, Time now);
  void on(const HostClean& event, Time now);
  void on(const HostSwept& event, Time now);
  void on(const UserSignal& event, Time now);
  void on(const Hung& event, Time now);
  void on(const StacksTaken& event, Time now);
  void on(const OutputFailed& event, Time now);

  void preempt(const Preempted& notice, Time now);
  void ask_to_save();
  void end_unsaved(Time now);
  void judge_preempted();
  void out_of_time(Time now);
  void end_the_others(Time now);
  void note_failure(int rank, Time now);
  bool show_stacks(const std::string& why);
  std::string fault_of(int rank) const;
  void end_after_failure(int rank, Time now);
  void end_failed(Time now);
  void end_ranks(Cause cause, int exit_code, int signal, Time now);
  void kill_ranks(Time now);
  void give_up_ranks();
  void finish_when_idle(Time now);
  void finish_hosts(Time now);
  void give_up_hosts(Time now);
  void finished_when_all_gone(Time now);
  void wait_for_reader(Time now);
  void leave_undrained();
  void stop_waiting(Cause cause, int exit_code);
  void start_or_give_up(Time now);
  bool stays_for_restart() const;
  void lose_for_next_round(const HostLost& event);
  void forbid_restart(std::string why);
  void no_start(Time now);
  void sweep_host(int host, Time now);

  const Policy policy_;
  Outcome outcome_;
  HostStates hosts_;
  RankStates ranks_;
  Preemption preemption_;
  Phase phase_ = Phase::starting;
  Actions actions_;  // gathered by one handle() or tick()
  bool restart_allowed_ = false;
  std::optional<Time> start_at_;
  bool sidecar_expected_ = false;
  std::chrono::seconds sidecar_wait_ = kSidecarWait;
  bool sidecar_left_ = false;     // asked to start, and not yet gone
  bool sidecar_awaited_ = false;  // the ranks have ended
  int sent_signal_ = 0;
  std::optional<Time> timeout_at_;
  std::optional<Time> others_until_;
  bool one_ended_ = false;  // of the ranks
  bool stacks_first_ = false;
  bool stacks_asked_ = false;
  std::optional<Time> failed_until_;  // a rank has failed, and the others end once what they do was shown
  std::optional<Time> phase_deadline_;
  bool hurried_ = false;              // waiting for a reader has a deadline
  bool impatient_ = false;            // there is no waiting for a reader at all
  bool told_at_host_ = false;         // to end, and not yet by a signal to the launcher as well
  std::optional<Time> reader_since_;  // when the wait for a reader, with a deadline, began
};

}  // namespace dlaunch::job
