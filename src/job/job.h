// Job: the policy of one job as a state machine. Job decides when ranks start, when ranks are stopped, and the exit
// code. PURE: takes events and the time, returns actions for the caller to do. Owned by the Launcher.
//
//   starting ──all hosts ready──► running ─every rank ended, drained─► finishing ──every host clean──► finished
//       │                            │                                     ▲
//       └── failure, signal, timeout ┴──► ending: signal, grace, KILL ──────┘
//
// Rules
// - Ranks start when every host is ready. If one host cannot be used, no rank starts; the other hosts have kOthersWait
//   to answer, so that all failures are reported together. After a stop of this process, they have the whole time
//   again: their agents may have ended, so that the launcher must connect again.
// - If the job changes files of earlier jobs before its ranks start, these changes begin when every host is ready.
// - The first failure (job/rank_states.h) stops all ranks, unless the policy is "continue". The exit code of the
//   first failure is the job's exit code; with "continue" and Policy::highest_exit_code, the highest code is.
// - MPI_Abort is a failure at the time of the call (job/rank_states.h). It stops all ranks under any policy.
// - Stopping ranks: the signal (TERM, or the signal of the user), then KILL after the grace. The job reports ranks that
//   still run kKillWait after their host received KILL, if the host then gives a sign of life, and stops waiting. A
//   second signal of the user: KILL.
// - A host is lost if it sends no frame and no confirmation of KILL for kKillWait, or does not confirm Finish. A host
//   whose ranks live on after KILL is lost if the host then sends no frame for kKillWait.
// - If a host was silent before a rank failed elsewhere, and is lost, then the lost host is the cause.
// - The same rules apply to spawned ranks. The launcher connects to a host without ranks before the host gets its first
//   rank.
// - A signal from outside to one host ends the job, like a signal to the launcher. Ranks that the same signal ended
//   shortly before are not failures.
// - If a resource manager sent TERM to a host and its time until KILL is known, ranks get KILL earlier than the agents.
// - A sidecar that fails while ranks run stops all ranks, like the failure of a rank.
// - A host that is lost after ranks started there is swept: a new agent kills the remaining processes (HostSwept), or
//   the summary names the host. The job waits for the sweep.
// - With --wait-after-first, the job stops the remaining ranks this time after the end of the first rank.
// - If another round may follow (job/rounds.h), the hosts of a failed round confirm that no process is left, and stay
//   connected. A user's signal and other reasons to end the whole job also end the wait for the next round.
// - With --checkpoint-signal, a signal that announces the loss of the hosts lets ranks save their state first
//   (job/preemption.h).
// - If the policy ends jobs that hang, a hang is a failure of the job.
// - Every wait has a deadline: the deadline of a host's answer is in the link. One exception: a slow reader of the
//   output of ended ranks, until the user's second signal. The wait for the reader also has a deadline (kReaderWait
//   without progress, kReaderMost in total) after --timeout, after TERM or HUP, and after an earlier second signal.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/end_signals.h"
#include "base/index_cast.h"
#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"
#include "job/events.h"
#include "job/preemption.h"
#include "job/rank_states.h"

namespace dlaunch::job {

// The hosts of a job and the state of each host's agent, from its first answer to its last frame. PURE. Owned by Job.

enum class HostState { waiting, ready, started, finishing, sweeping, gone };

class HostStates {
 public:
  explicit HostStates(const std::vector<std::string>& names) {
    for (const std::string& name : names) add(name);
  }

  void add(std::string name) {
    hosts_.push_back({std::move(name)});
    ++at_index(counts_, HostState::waiting);
  }
  void set(int host, HostState state) {
    Host& changed = at_index(hosts_, host);
    --at_index(counts_, changed.state);
    ++at_index(counts_, state);
    changed.state = state;
    changed.had_ranks = changed.had_ranks || state == HostState::started;
  }

  void set_reached(int host) { at_index(hosts_, host).reached = true; }

  void set_heard(int host, Time now, Time answered) {
    Host& heard = at_index(hosts_, host);
    heard.heard = now;
    heard.answered = std::max(heard.answered, answered);
  }
  void set_gone_by(int host, std::optional<Time> time) { at_index(hosts_, host).gone_by = time; }
  /// The loss of the host was requested.
  void set_losing(int host) { at_index(hosts_, host).losing = true; }

  int size() const { return static_cast<int>(hosts_.size()); }
  int count(HostState state) const { return at_index(counts_, state); }
  HostState of(int host) const { return at_index(hosts_, host).state; }
  const std::string& name(int host) const { return at_index(hosts_, host).name; }
  /// Whether the host's agent can answer Finish.
  bool is_reached(int host) const {
    return at_index(hosts_, host).reached || at_index(hosts_, host).state != HostState::waiting;
  }
  /// Whether processes of the job may run on the host: ranks, or the process that prepares their directories.
  bool had_processes(int host) const { return at_index(hosts_, host).reached || at_index(hosts_, host).had_ranks; }
  /// Whether the host ever got a request to start ranks.
  bool had_ranks(int host) const { return at_index(hosts_, host).had_ranks; }
  /// The time of the host's last frame.
  Time heard(int host) const { return at_index(hosts_, host).heard; }
  /// Whether the host has received all messages that the launcher sent before the time `sent`.
  bool answers_since(int host, Time sent) const { return at_index(hosts_, host).answered >= sent; }
  /// The time by which the agent of a lost host has ended its ranks; nullopt: the host had no ranks.
  std::optional<Time> gone_by(int host) const {
    return had_ranks(host) ? at_index(hosts_, host).gone_by : std::nullopt;
  }
  bool is_losing(int host) const { return at_index(hosts_, host).losing; }

 private:
  struct Host {
    std::string name;
    HostState state = HostState::waiting;
    bool reached = false;
    bool had_ranks = false;
    bool losing = false;
    Time heard = Time::min();
    Time answered = Time::min();
    std::optional<Time> gone_by = {};
  };
  std::vector<Host> hosts_;
  std::array<int, 6> counts_{};  // by state
};

// The deadlines of a job. Each belongs to one wait, and is set only during this wait; Job::tick() has one reaction for
// each. PURE. A member of Job.

struct Deadlines {
  using At = std::optional<Time>;

  // ---- any phase ----
  At timeout = {};  ///< --timeout; while stacks are printed: the stop of the ranks after it

  // ---- starting ----
  At others_answer = {};  ///< a host cannot be used: the other hosts answer
  At start = {};          ///< all hosts are ready: the time before which no rank starts

  // ---- running ----
  At after_first = {};  ///< --wait-after-first: the other ranks end
  At stacks = {};       ///< a rank failed: the stacks of the others are printed

  // ---- running or ending, after the last rank ----
  At sidecar = {};  ///< the sidecar ends after the ranks
  At reader = {};   ///< the reader of the output takes some of it; also after the end of the job

  // ---- ending ----
  At kill = {};          ///< the ranks end within the grace
  At confirm_kill = {};  ///< the hosts of living ranks confirm KILL
  At give_up = {};       ///< the ranks end after KILL

  // ---- finishing ----
  At clean = {};  ///< the hosts confirm that no process is left

  At first() const {
    At first;
    for (const At& each :
         {timeout, others_answer, start, after_first, stacks, kill, confirm_kill, give_up, sidecar, reader, clean}) {
      if (each) first = std::min(first.value_or(*each), *each);
    }
    return first;
  }
};

inline constexpr std::chrono::seconds kOthersWait{5};   ///< for the other hosts to answer if one cannot be used
inline constexpr std::chrono::seconds kSidecarWait{5};  ///< for the sidecar to exit after the ranks
inline constexpr std::chrono::seconds kKillWait{5};     ///< for a rank to end after KILL (uninterruptible sleep)
/// For a host that sends frames to confirm KILL: on a slow line, output comes first.
inline constexpr std::chrono::seconds kConfirmWait{20};
/// For a host to confirm that no process is left, in addition to the grace.
inline constexpr std::chrono::seconds kFinishWait{10};
inline constexpr std::chrono::seconds kReaderWait{5};   ///< for the reader of the output to read some of it
inline constexpr std::chrono::seconds kReaderMost{30};  ///< for the reader to read all of it
inline constexpr std::chrono::seconds kStacksWait{2};   ///< for stacks to be printed before the ranks are stopped
inline constexpr size_t kMostHangs = 100;               ///< in the outcome
inline constexpr std::chrono::seconds kSweepWait{15};   ///< for a lost host to be swept, in addition to the grace

/// The time for agents to confirm the end of all processes before the KILL of the resource manager: a quarter of the
/// time between its TERM and its KILL, within these limits.
inline constexpr std::chrono::milliseconds kLeastConfirmWait{1000};
inline constexpr std::chrono::milliseconds kMostConfirmWait{5000};

class Job {
 public:
  /// `host_of_rank[r]` is the index of the host on which rank r runs.
  Job(const Policy& policy, const std::vector<int>& host_of_rank, const std::vector<std::string>& host_names, Time now);

  /// Another round may follow: if a rank, a host or the sidecar fails, the hosts stay connected and
  /// Outcome::may_restart is true.
  void allow_restart() { restart_allowed_ = true; }
  /// The ranks do not start before this time.
  void start_not_before(Time time) { start_at_ = time; }
  /// Prints stacks once per job: before --timeout stops the ranks, or after a fault (SIGSEGV etc.) of a rank if no
  /// round may follow.
  void show_stacks_first() { stacks_ = Stacks::wanted; }
  /// The ranks start after FilesReady.
  void expect_files() { files_ = Files::wanted; }
  /// The job has a sidecar. After the last rank, the sidecar has `wait` to end by itself.
  void expect_sidecar(std::chrono::seconds wait = kSidecarWait) {
    sidecar_ = Sidecar::expected;
    sidecar_wait_ = wait;
  }

  Actions handle(const Event& event, Time now);
  /// A frame came from the host. `answered`: the host has received all messages that were sent to it until then.
  void host_heard(int host, Time now, Time answered);
  /// Output came from a host. Extends the deadline after which hosts are given up: on a slow line, output arrives
  /// before the end of the host's ranks. The extension is limited (kReaderMost after a confirmed message).
  void output_arrived(Time now);
  /// The reader of the output read some of it.
  void reader_took_some(Time now);
  /// Whether the signal would be the user's second signal to end the job. False after a signal to a host: the same
  /// sender may also signal the launcher.
  bool is_repeated(int signal) const {
    return phase_ >= Phase::ending && is_end_signal(signal) && !signalled_at_host_ && !preemption_.announced_by(signal);
  }
  /// The latest time to call tick().
  std::optional<Time> deadline() const;
  Actions tick(Time now);

  Phase phase() const { return phase_; }
  /// All ranks have ended; their last output may still arrive.
  bool ranks_ended() const { return phase_ > Phase::starting && ranks_.live() == 0; }
  /// The job is preempted, and its ranks may save their state: now a failure does not stop the ranks.
  bool saves() const { return preemption_.deadline().has_value(); }
  /// Whether HostAdded and RanksAdded are accepted: only while ranks run and the job is not ending.
  bool may_grow() const { return phase_ == Phase::running && ranks_.live() > 0; }
  /// The ranks that have started and have not ended.
  std::set<int> running() const { return ranks_.running(); }
  Progress progress() const;
  const Outcome& outcome() const { return outcome_; }

 private:
  void on(const HostReached& event, Time now);
  void on(const HostReady& event, Time now);
  void on(const HostLost& event, Time now);
  void on(const HostTermination& event, Time now);
  void on(const RankStarted& event, Time now);
  void on(const RankEnded& event, Time now);
  void on(const StartRefused& event, Time now);
  void on(const RankAborted& event, Time now);
  void on(const HostAdded& event, Time now);
  void on(const RanksAdded& event, Time now);
  void on(const RankDrained& event, Time now);
  void on(const SidecarEnded& event, Time now);
  void on(const SidecarGone& event, Time now);
  void on(const HostClean& event, Time now);
  void on(const HostSwept& event, Time now);
  void on(const SweepDelayed& event, Time now);
  void on(const UserSignal& event, Time now);
  void on(const Hung& event, Time now);
  void on(const StacksTaken& event, Time now);
  void on(const OutputFailed& event, Time now);
  void on(const FilesReady& event, Time now);
  void on(const InputFailed& event, Time now);

  void preempt(const Preempted& notice, Time now);
  void ask_to_save();
  void end_unsaved(Time now);
  void settle_preempted();
  void settle_interrupted();
  void out_of_time(Time now);
  void end_the_others(Time now);
  void note_failure(int rank, Time now);
  bool show_stacks(const std::string& why);
  std::string fault_of(int rank) const;
  void end_after_failure(int rank, Time now);
  void end_failed(Time now);
  void end_ranks(Cause cause, int exit_code, int signal, Time now);
  void expect_kill(Time now);
  std::optional<Time> kill_before_manager() const;
  void kill_ranks(Time now);
  void give_up_ranks(Time now);
  void name_stuck_ranks();
  void lose_silent_hosts(Time now);
  bool lose_unfinished_hosts(Time now);
  bool ask_unfinished_hosts(Time now);
  void lose(int host);
  void blame_silent_host(const HostLost& event, Time now);
  void finish_when_idle(Time now);
  void finish_hosts(Time now);
  void give_up_hosts(Time now);
  void finished_when_all_gone(Time now);
  void extend(std::optional<Time>& deadline, Time now, Time sent);
  void wait_for_reader(Time now);
  void limit_patience() { patience_ = std::max(patience_, Patience::limited); }
  bool sidecar_left() const { return sidecar_ == Sidecar::running || sidecar_ == Sidecar::awaited; }
  void leave_undrained();
  void end_reader_wait(Time now);
  void stop_waiting(Cause cause, int exit_code, Time now);
  void start_or_give_up(Time now);
  void act_on_ended_waits(Time now);
  bool stays_for_restart() const;
  void lose_for_next_round(const HostLost& event);
  void forbid_restart(std::string why);
  void forbid_late_restart(Time now);
  void no_start(Time now);
  void sweep_host(int host, Time now);

  const Policy policy_;
  Outcome outcome_;
  HostStates hosts_;
  RankStates ranks_;
  Preemption preemption_;
  Phase phase_ = Phase::starting;
  Actions actions_;  // collected by one handle() or tick()
  bool restart_allowed_ = false;
  std::optional<Time> start_at_;
  /// `running`: its start is requested, and SidecarGone was not received yet. `awaited`: so, and the ranks have ended.
  enum class Sidecar { none, expected, running, awaited } sidecar_ = Sidecar::none;
  std::chrono::seconds sidecar_wait_ = kSidecarWait;
  enum class Files { ready, wanted, asked } files_ = Files::ready;
  enum class Stacks { none, wanted, asked } stacks_ = Stacks::none;
  /// How long the job waits for the reader of the output of ended ranks. Later values wait less: limit_patience().
  enum class Patience { endless, limited, none } patience_ = Patience::endless;
  Deadlines at_;
  std::optional<Time> kill_by_;         // the resource manager has sent TERM and will send KILL soon after this time
  std::optional<Time> out_of_time_at_;  // the end of the time limit; stacks may delay the stop of the ranks
  std::optional<Time> failed_at_;       // a rank or the sidecar failed; other hosts may have been silent before
  std::optional<Time> killed_at_;
  std::optional<Time> ranks_asked_at_;  // hosts whose ranks did not end after KILL got a ping
  std::optional<Time> finished_at_;     // Finish was sent, or a ping after Finish
  std::optional<Time> reader_since_;    // start of the wait for a reader, with a deadline
  Time last_output_ = Time::min();
  int sent_signal_ = 0;
  bool one_ended_ = false;  // at least one rank
  bool unfinished_asked_ = false;
  bool user_signalled_ = false;     // an ending signal reached the launcher
  bool signalled_at_host_ = false;  // an ending signal reached a host, and the launcher not yet
};

}  // namespace dlaunch::job
