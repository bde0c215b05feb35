// Job's waits for the last output of ranks: until it arrives, and until its reader has read it.
#include <algorithm>

#include "job/job.h"

namespace dlaunch::job {

/// Gives up output of the ranks that was not read, or did not arrive.
void Job::leave_undrained() {
  if (ranks_.undrained() > 0) outcome_.unread = true;
  ranks_.leave_undrained();
}

void Job::output_arrived(Time now) {
  last_output_ = now;
  if (reader_since_) return reader_took_some(now);
  if (at_.give_up) extend(at_.give_up, now, *killed_at_);
  if (at_.clean) extend(at_.clean, now, *finished_at_);
}

/// A process that KILL does not end, or a daemon, may write without end. So output counts up to kReaderMost after a
/// message that all hosts have confirmed.
void Job::extend(std::optional<Time>& deadline, Time now, Time sent) {
  bool all_confirmed = true;
  for (int host = 0; host < hosts_.size(); ++host) {
    const HostState state = hosts_.of(host);
    const bool expected = state == HostState::started || state == HostState::finishing;
    all_confirmed = all_confirmed && (!expected || hosts_.answers_since(host, sent));
  }
  const Time until = all_confirmed ? std::min(now + kKillWait, sent + kReaderMost) : now + kKillWait;
  deadline = std::max(*deadline, until);
}

void Job::reader_took_some(Time now) {
  if (at_.reader) wait_for_reader(now);
}

void Job::wait_for_reader(Time now) {
  if (!reader_since_) reader_since_ = now;
  at_.reader = std::min(now + kReaderWait, *reader_since_ + kReaderMost);
}

/// The reader has not read the output of the ended job in time.
void Job::end_reader_wait(Time now) {
  if (out_of_time_at_) return stop_waiting(Cause::timeout, policy_.timeout_exit_code, now);
  actions_.push_back(StopWaiting{});
}

/// `cause` becomes the job's cause if everything else succeeded. A time limit has its own time, before the wait for the
/// reader.
void Job::stop_waiting(Cause cause, int exit_code, Time now) {
  if (outcome_.cause == Cause::success) {
    outcome_.cause = cause;
    outcome_.exit_code = exit_code;
    outcome_.cause_at = cause == Cause::timeout ? out_of_time_at_.value_or(now) : now;
  }
  actions_.push_back(StopWaiting{});
}

}  // namespace dlaunch::job
