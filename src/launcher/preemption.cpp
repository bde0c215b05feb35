// Signals that a batch system sends to the hosts of a job, and the checkpoint signal that dlaunch sends because of
// them.
#include <spdlog/logger.h>

#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/end_signals.h"
#include "launcher/components.h"

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::seconds kKillsBefore{2};  // time from a batch system's kill of ranks to its message

/// Resends the checkpoint signal to ranks that had no handler when the signal arrived, for example during their
/// startup. Retries until the ranks catch the signal or the time to save their state is over. PURE.
class CheckpointSignalRetry {
 public:
  static constexpr std::chrono::milliseconds kAskAgain{500};

  /// Takes an agent's answer. Returns the ranks that no earlier answer contained.
  std::set<int> uncaught(int host, const wire::Uncaught& answer, Time now) {
    std::set<int> unknown;
    for (const std::uint32_t rank : answer.ranks) {
      if (known_.insert(static_cast<int>(rank)).second) unknown.insert(static_cast<int>(rank));
    }
    if (answer.ranks.empty()) return unknown;
    if (again_.empty()) next_ = now + kAskAgain;
    again_[host] = {answer.signal, true, answer.ranks};
    return unknown;
  }

  /// Returns the signals to send to hosts now. Call while the ranks save their state.
  std::map<int, wire::Signal> due(Time now) {
    if (again_.empty() || now < next_) return {};
    return std::exchange(again_, {});
  }

 private:
  std::map<int, wire::Signal> again_;  // by host
  Time next_ = {};
  std::set<int> known_;
};

class Preemption final : public Component {
 public:
  explicit Preemption(const Context& context) : context_(context) {}

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    if (const auto* notice = std::get_if<wire::TerminationNotice>(&message)) {
      notified(host, *notice);
    } else if (const auto* uncaught = std::get_if<wire::Uncaught>(&message)) {
      not_caught(host, *uncaught);
    } else {
      return false;
    }
    return true;
  }

  void host_lost(int host, const HostFailure& loss) override {
    if (loss.ordered.text.empty() || context_.job.phase() == job::Phase::starting) return;
    const std::int64_t since = loss.ordered.read_ns - std::chrono::nanoseconds(kKillsBefore).count();
    context_.happened(job::HostTermination{SIGKILL, since, ended_by_manager(loss.ordered), host, own_clock()});
  }

  void perform(const job::Action& action) override {
    if (const auto* save = std::get_if<job::CheckpointRanks>(&action)) signal_ranks(*save);
  }

  void tick(job::Progress&) override {
    if (!context_.job.saves()) return;
    for (const auto& [host, signal] : retry_.due(Clock::now())) context_.hosts.send(host, signal);
  }

 private:
  void notified(int host, const wire::TerminationNotice& notice) {
    const auto signal = static_cast<int>(notice.signal);
    if (!is_end_signal(signal) && signal != SIGUSR1 && signal != SIGUSR2) {
      return context_.broken(host, "protocol error: unexpected signal from the agent");
    }
    context_.log.info("{}: the agent received {}", host_name(host), signal_name(signal));
    context_.hosts.ping(host);
    context_.happened(job::HostTermination{signal, notice.time_ns, termination_source(host), host,
                                           context_.hosts.clock(host), notice.direct});
  }

  void not_caught(int host, const wire::Uncaught& uncaught) {
    std::set<int> ranks = retry_.uncaught(host, uncaught, Clock::now());
    ranks.erase(static_cast<int>(context_.plan.ranks.size()));  // the sidecar
    if (ranks.empty()) return;
    const bool one = ranks.size() == 1;
    context_.log.warn("{}: {} {} not catch {}, so dlaunch did not send the signal", host_name(host),
                      (one ? "rank " : "ranks ") + context_.plan.worlds.fold(ranks), one ? "does" : "do",
                      signal_name(static_cast<int>(uncaught.signal)));
  }

  void signal_ranks(const job::CheckpointRanks& save) const {
    const wire::Signal signal{static_cast<std::uint32_t>(save.signal), true};
    for (int host = 0; host < static_cast<int>(context_.plan.hosts.size()); ++host) {
      if (!save.signalled.contains(host)) context_.hosts.send(host, signal);
    }
    context_.log.warn(
        "preempted by {}: agents send {} to the ranks that catch it; the ranks have {} s to save their state",
        job::describe(*context_.job.outcome().preempted), signal_name(save.signal),
        std::chrono::ceil<std::chrono::seconds>(save.until - Clock::now()).count());
  }

  const std::string& host_name(int host) const { return context_.plan.host(host).host.name; }

  std::string termination_source(int host) const {
    const plan::Host& agent_host = context_.plan.host(host).host;
    if (agent_host.local) return "";
    if (!context_.plan.manager) return agent_host.name + " received a termination signal";
    return ended_by_manager(context_.hosts.manager_notice(host));
  }

  std::string ended_by_manager(const transport::ReasonLine& notice) const {
    const std::string job = context_.plan.manager ? plan::to_string(*context_.plan.manager) : "the job";
    const bool failed = notice.meaning == place::LineMeaning::node_failed;
    return job + (failed ? " lost a node" : " was cancelled or reached its time limit") +
           (notice.text.empty() ? "" : ": " + notice.text);
  }

  const Context& context_;
  CheckpointSignalRetry retry_;
};

}  // namespace

std::unique_ptr<Component> make_preemption(const Context& context) { return std::make_unique<Preemption>(context); }

}  // namespace dlaunch::launcher
