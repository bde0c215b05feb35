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
// - MPI_Abort is a failure at the time of the call (see job/first_failure.h), and ends all ranks whatever the policy
//   says.
// - Ending is the signal (TERM, or the user's own), KILL after the grace, and after kKillWait the ranks that still run
//   are given up and named. A second signal from the user means KILL at once.
// - Ranks that a rank spawns are treated as all others, from their start to their end. A host that has no rank yet is
//   connected to first.
// - A sidecar that fails while the ranks run ends all, as a rank would.
// - A host that is lost after ranks have started there is swept: another agent ends what they left (HostSwept), or the
//   host is named. The job's end waits for that.
// - Every wait has a deadline, a host's answer by its link, the others here. The one exception is a slow reader of what
//   ended ranks wrote, which the user's second signal ends. After --timeout, a signal that no terminal sends, or a
//   second signal before that wait, it has a deadline, too: kReaderWait without progress, kReaderMost in all.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"
#include "dlaunch/worlds.h"

namespace dlaunch::job {

/// Whether the user means this signal to end the job; any other is passed on to the ranks.
bool ends_a_job(int signal);

inline constexpr std::chrono::seconds kOthersWait{5};     ///< for hosts to answer when one cannot be used
inline constexpr std::chrono::seconds kCompanionWait{5};  ///< for the sidecar to end after the ranks
inline constexpr std::chrono::seconds kKillWait{5};       ///< for a rank to go after KILL (uninterruptible sleep)
inline constexpr std::chrono::seconds kFinishWait{
    10};                                               ///< for a host to confirm that nothing is left, beyond the grace
inline constexpr std::chrono::seconds kReaderWait{5};  ///< for a reader of the output to take some of it
inline constexpr std::chrono::seconds kReaderMost{30};  ///< for it to take everything

inline constexpr std::chrono::seconds kSweepWait{15};  ///< for a lost host to be swept, beyond the grace

// ---- events ----
struct HostReady {
  int host;
};
struct HostLost {
  int host;
  std::string why;
  std::string hint = {};  ///< the one thing to do; may be empty
};
struct RankStarted {
  int rank;
  int pid;
  std::int64_t time_ns;
  std::string cpus;
};
struct RankEnded {
  int rank;
  ExitStatus status;
  std::int64_t time_ns;
};
/// The rank called MPI_Abort. RankEnded still comes.
struct RankAborted {
  int rank;
  int code;  ///< 0…255
  std::int64_t time_ns;
};
/// The job has one more host from now on, the last one, for ranks that are added once it is ready. Only while
/// may_grow(). Losing it before it has a rank is no failure of the job.
struct HostAdded {
  std::string name;
};
/// Another world begins on hosts that are ready, only while may_grow(). Its ranks have the next ids.
struct RanksAdded {
  std::vector<int> host_of_rank;
};
/// Both streams of a rank have ended and every byte was taken; or there will be none (not started, host lost).
struct RankDrained {
  int rank;
};
/// The sidecar ended; `detail` says how.
struct SidecarEnded {
  ExitStatus status;
  std::string detail;
};
/// The sidecar has ended or is lost, and no more of its output will come.
struct SidecarGone {};
struct HostClean {
  int host;
  std::vector<std::string> left;
};
/// The answer to SweepHost.
struct HostSwept {
  int host;
  std::string unreached;  ///< why it was not reached; empty: it was reached, and `left` is left there
  std::vector<std::string> left = {};
};
struct UserSignal {
  int signal;
};
struct OutputFailed {
  std::string detail;
  int exit_code;
};
using Event = std::variant<HostReady, HostLost, RankStarted, RankEnded, RankAborted, HostAdded, RanksAdded, RankDrained,
                           SidecarEnded, SidecarGone, HostClean, HostSwept, UserSignal, OutputFailed>;

// ---- actions ----
struct StartRanks {
  int host;
  bool operator==(const StartRanks&) const = default;
};
/// Start the ranks of this world on this host.
struct StartWorld {
  int world;
  int host;
  bool operator==(const StartWorld&) const = default;
};
struct SignalRanks {
  int signal;
  bool operator==(const SignalRanks&) const = default;
};
struct FinishHost {
  int host;
  bool operator==(const FinishHost&) const = default;
};
struct DropHost {
  int host;
  bool operator==(const DropHost&) const = default;
};
/// A new agent is to end what the ranks of this host left there.
struct SweepHost {
  int host;
  bool operator==(const SweepHost&) const = default;
};
/// The launcher tells the agents to pause, and stops its own process.
struct StopSelf {
  bool operator==(const StopSelf&) const = default;
};
struct Finished {
  bool operator==(const Finished&) const = default;
};
/// Comes after Finished: the output that the reader has not taken is dropped.
struct StopWaiting {
  bool operator==(const StopWaiting&) const = default;
};
using Action =
    std::variant<StartRanks, StartWorld, SignalRanks, FinishHost, DropHost, SweepHost, StopSelf, Finished, StopWaiting>;
using Actions = std::vector<Action>;

class Job {
 public:
  /// `host_of_rank[r]` is the index of the host on which rank r runs.
  Job(Policy policy, std::vector<int> host_of_rank, std::vector<std::string> host_names, Time now);

  /// The job has a sidecar. It ends with the ranks: after the last one it has kCompanionWait to end by itself.
  void expect_companion() { companion_expected_ = true; }

  Actions handle(const Event& event, Time now);
  /// Output came from a host. No host is given up meanwhile, because on a slow line output arrives before the news that
  /// its ranks have ended; the credit bounds it.
  void heard_output(Time now);
  /// The reader of the output took some of it.
  void reader_took_some(Time now);
  /// When tick() must be called at the latest.
  std::optional<Time> deadline() const;
  Actions tick(Time now);

  Phase phase() const { return phase_; }
  /// No rank runs any more; what they wrote may still be on its way.
  bool ranks_ended() const { return phase_ > Phase::starting && live_ == 0; }
  /// Whether HostAdded and RanksAdded may come now: a job that has not begun, or is ending, takes no more ranks.
  bool may_grow() const { return phase_ == Phase::running && live_ > 0; }
  Progress progress() const;
  const Outcome& outcome() const { return outcome_; }

 private:
  enum class HostState { waiting, ready, started, finishing, sweeping, gone };

  void on(const HostReady& event, Time now);
  void on(const HostLost& event, Time now);
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
  void on(const OutputFailed& event, Time now);

  void record_end(int rank, const ExitStatus& status, std::int64_t time_ns);
  /// Whether a rank that failed at that time is a consequence of the first failure.
  bool follows(const RankRecord& record) const;
  int first_code() const;
  void note_failure(int rank, Time now);
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
  void no_start(Time now);
  void sweep_host(int host, Time now);
  void lose_host_ranks(int host, const std::string& why);
  void set_state(size_t host, HostState state);

  const Policy policy_;
  std::vector<int> host_of_rank_;
  Worlds worlds_;
  std::vector<std::string> host_names_;
  std::vector<std::vector<int>> ranks_of_host_;
  std::vector<HostState> hosts_;  // changed by set_state alone
  std::set<int> had_ranks_;       // hosts that were ever asked to start a rank
  int waiting_hosts_ = 0;
  int hosts_not_gone_ = 0;
  Outcome outcome_;
  Phase phase_ = Phase::starting;
  Actions actions_;    // gathered by one handle() or tick()
  int live_ = 0;       // ranks asked to start and not ended
  int undrained_ = 0;  // ranks whose streams may still bring bytes
  std::vector<bool> drained_;
  bool companion_expected_ = false;
  bool companion_left_ = false;     // asked to start, and not yet gone
  bool companion_awaited_ = false;  // the ranks have ended
  int started_ = 0;
  bool killed_ = false;
  int sent_signal_ = 0;
  std::optional<Time> timeout_at_;
  std::optional<Time> phase_deadline_;
  bool hurried_ = false;              // waiting for a reader has a deadline
  bool impatient_ = false;            // there is no waiting for a reader at all
  std::optional<Time> reader_since_;  // when the wait for a reader, with a deadline, began
};

}  // namespace dlaunch::job
