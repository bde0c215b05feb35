// Which rounds a job has. A round is one run of all ranks, from their start to the last one's end: 0, and with
// --restarts up to N more. Each failure that a restart can mend ends a round everywhere before the next one begins.
// PURE.
//
// A round is the last one
// - where its hosts did not stay for another (Outcome::may_restart): success, a signal of the user, --timeout, output
//   that cannot be written, or the last of N restarts;
// - where round 0 fails with 2, 126 or 127: a usage error, a program that cannot be executed or is not there;
// - where more hosts are lost than there are spare ones (unless Policy::shrink), or not all of the round could be
// ended;
// - where a rank's code is one of Policy::no_restart_codes;
// - where the same rank failed alike in kAlike rounds running, each shorter than kLong.
//
// A host that failed by itself in kGuilty rounds is replaced where there is a spare host for it: a rank of it was the
// first to fail, and ended by SIGBUS (memory or a disk that does not answer) or did not start.
//
// The first restart is at once, and so is each one after a round of at least kLong. Behind short rounds running there
// is a wait of 1, 2, 4, … kLongestWait. Where a lost host was not reached again, the wait is at least kUnseen and the
// grace, in which its agent, which has noticed the loss by then, has ended its ranks.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/outcome.h"
#include "dlaunch/policy.h"

namespace dlaunch::job {

class Rounds {
 public:
  static constexpr std::chrono::seconds kLong{60};
  static constexpr std::chrono::seconds kLongestWait{60};
  static constexpr std::chrono::seconds kUnseen{10};
  static constexpr int kAlike = 3;
  static constexpr int kGuilty = 2;

  /// `restarts`: the most rounds after round 0.
  Rounds(const Policy& policy, int restarts) : policy_(policy), restarts_(restarts) {}

  int number() const { return number_; }
  int restarts() const { return restarts_; }
  bool is_last() const { return number_ == restarts_; }

  struct Verdict {
    bool again = false;
    std::chrono::seconds wait{0};
    std::string why_not = {};   ///< for people, where restarts were left; may be empty
    bool in_vain = false;       ///< the rounds failed alike: another attempt would, too
    std::string replaced = {};  ///< name of the host that failed too often, and is to be replaced; empty: none
  };
  /// The current round ended after `lived`. The rank that failed first was on the host `failed_on`, and there are so
  /// many hosts that can take the place of another. Where there is another round, it is the current one from now on.
  Verdict ended(const Outcome& outcome, Duration lived, int spares = 0, const std::string& failed_on = {});

 private:
  struct Failure {
    std::optional<int> rank;
    std::string how;
    bool operator==(const Failure&) const = default;
  };
  std::string refusal(const Outcome& outcome, int spares) const;

  const Policy policy_;
  const int restarts_;
  int number_ = 0;
  Failure last_;
  int alike_ = 0;                     // rounds running that failed as `last_`
  int short_ = 0;                     // short rounds running
  std::map<std::string, int> guilt_;  // failures of their own, by host
};

}  // namespace dlaunch::job
