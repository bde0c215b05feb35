// Promise: after a single fault while ranks run, the job ends, or its next round starts, within the bound of the table
// in docs/how-it-works.md. With any faults, the job ends within bound_of_end() after the cause of its end. (The whole
// job ends within bound(); run_case.cpp reports a hang otherwise.)
#include "base/time.h"
#include "bound.h"
#include "job/job.h"
#include "launcher/sweeps.h"
#include "link/heartbeat.h"
#include "promises/promises.h"

namespace sim {

void Ends::fault(const Fault& fault, bool ends) {
  if (!ends) at_ = world_.now();
  (void)fault;
}

void Ends::began(const Process& process) {
  if (process.kind != Process::Kind::rank) return;
  if (process.round == 0) running_ = running_.value_or(world_.now());
  if (process.round > 0 && !next_) next_ = world_.now();
}

void Ends::job_ended(const Facts& facts) {
  if (facts.outcome && facts.outcome->cause_at && facts.outcome->cause != dlaunch::job::Cause::success) {
    const Ns took = std::chrono::nanoseconds(dlaunch::Clock::now() - *facts.outcome->cause_at).count();
    if (took > bound_of_end(world_.scenario(), facts.options))
      broke("the job did not end within the bound after its cause");
  }
  const auto& faults = world_.scenario().faults;
  if (faults.size() != 1 || !at_ || !running_ || *at_ < *running_ + kSecond || !facts.outcome) return;
  if (!facts.world.scenario().stuck.empty() || facts.world.scenario().preempt) return;
  const auto cause = facts.outcome->cause;
  const bool other = cause == dlaunch::job::Cause::success || cause == dlaunch::job::Cause::timeout;
  const bool by_signal =
      faults[0].kind == "int" || faults[0].kind == "term" || faults[0].kind == "hup" || faults[0].kind == "termg";
  const bool in_time = *at_ + kSecond < facts.ended && facts.world.scenario().timeout == 0;
  if (by_signal && other && in_time) broke("the signal does not end the job");
  if (other && !next_) return;  // the fault did not end the job
  const auto most = bound_while_running(faults[0].kind, facts.options);
  if (!most) return;
  const Ns took = next_.value_or(facts.ended) - *at_;
  // While the ranks are stopped, the launcher tries for a time to connect again.
  if (faults[0].kind == "silent" && faults[0].length == 0 && !next_) {
    const auto ns = [](auto duration) { return std::chrono::nanoseconds(duration).count(); };
    const Ns silence = ns(facts.options.heartbeat) * dlaunch::link::Heartbeat::kMisses;
    const Ns stop = world_.scenario().grace + ns(dlaunch::job::kKillWait);
    if (took > silence + std::max(stop, ns(dlaunch::launcher::Sweeps::kReach)) + 2 * kSecond)
      broke("the job did not end within the bound after a host was lost for good");
  }
  // The lengths of the fault itself, and the lease of a host that may be replaced, come on top.
  const Ns lease = next_ ? std::chrono::nanoseconds(facts.options.heartbeat).count() * 4 + world_.scenario().grace : 0;
  constexpr Ns kWork = 2 * kSecond;  // logins, packets, processes that take their time
  if (took > *most + faults[0].length + lease + kWork) {
    broke("the job did not end within the bound after " + faults[0].kind);
  }
}

}  // namespace sim
