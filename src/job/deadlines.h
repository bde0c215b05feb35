// The deadlines of a job. Each belongs to one wait, and is set only during this wait; Job::tick() has one reaction for
// each. PURE. A member of Job.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace dlaunch::job {

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

}  // namespace dlaunch::job
