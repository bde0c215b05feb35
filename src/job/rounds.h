// Rounds: decides after each round whether another follows, and when. A round is one run of all ranks: round 0, and up
// to N more with --restarts N. Each round ends on all hosts before the next one starts. PURE. Owned by JobRun.
//
// A round is the last one if
// - its hosts did not stay for another (Outcome::may_restart): success, a signal of the user, --timeout, output that
//   cannot be written, or the last of N restarts;
// - round 0 fails with 2, 126 or 127: a usage error, or a program that cannot run or is not found (EAGAIN and ENOMEM of
//   fork may change: they do not end the rounds);
// - more hosts are lost than spare hosts exist (unless Policy::shrink), or processes of the round may be left;
// - a rank's exit code is in Policy::no_restart_codes;
// - kAlike consecutive rounds, each shorter than kLong, failed in the same way: the first failures had the same exit
//   code or signal, and the same last line of output, apart from numbers (job/failure_line.h). The rank may differ: a
//   bug that all ranks share does not always end the same rank first. The loss of another host is another failure.
//
// A host that caused kGuilty failures is replaced if a spare host fits. A host caused a failure if a rank on the host
// was the first to fail, and got SIGBUS (memory, or a disk that does not answer) or did not start.
//
// The first restart is immediate. A restart after a round of at least kLong is also immediate. After consecutive short
// rounds dlaunch waits 1, 2, 4, … kLongestWait. If dlaunch cannot connect to a lost host again, dlaunch waits at least
// until Unswept::gone_by: the host's agent has then stopped its ranks. This also applies to hosts that earlier rounds
// lost, because a round may end before its ranks start.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"

namespace dlaunch::job {

class Rounds {
 public:
  static constexpr std::chrono::seconds kLong{60};
  static constexpr std::chrono::seconds kLongestWait{60};
  static constexpr int kAlike = 3;
  static constexpr int kGuilty = 2;

  /// `restarts`: the most rounds after round 0.
  Rounds(const Policy& policy, int restarts) : policy_(policy), restarts_(restarts) {}

  int number() const { return number_; }
  int restarts() const { return restarts_; }
  bool is_last() const { return number_ == restarts_; }

  struct Verdict {
    bool again = false;
    std::chrono::seconds wait{0};  ///< until `start_at`, rounded up
    Time start_at = {};            ///< the earliest start of the ranks, if another round follows
    std::string why_not = {};      ///< text for the user if restarts were left; may be empty
    bool in_vain = false;          ///< the rounds failed in the same way, so another attempt would fail, too
    std::string replaced = {};     ///< name of the host to replace; empty: none
  };
  /// The current round ended now, after `lived`. `spares`: number of spare hosts. `failed_on`: host of the rank that
  /// failed first. `last_lines`: of the rank or sidecar that failed first; may be empty. A following round becomes the
  /// current round.
  Verdict ended(const Outcome& outcome, Duration lived, int spares = 0, const std::string& failed_on = {},
                const std::vector<std::string>& last_lines = {}, Time now = {});

 private:
  struct Failure {
    std::string how;
    std::string line;  // failure_line(); empty: unknown, and alike to every line
  };
  bool is_alike(const Failure& failure) const;
  std::string refusal(const Outcome& outcome, int spares) const;

  const Policy policy_;
  const int restarts_;
  int number_ = 0;
  Failure last_;
  int alike_ = 0;                     // consecutive rounds that failed like `last_`
  int short_ = 0;                     // consecutive short rounds
  Time all_gone_by_ = Time::min();    // the agents of all lost hosts have stopped their ranks
  std::map<std::string, int> guilt_;  // a host's own failures, by host
};

}  // namespace dlaunch::job
