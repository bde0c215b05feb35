// The work of a node after its launcher has admitted the node. The node starts an agent at the launcher's first data,
// copies the bytes of the link, and ends with the job. A termination signal goes to the agent, which reports a
// TerminationNotice to the launcher, and the job ends. USR1 and USR2 go to the agent, too: some batch systems signal
// only this process, and mean the ranks. Without an agent, or if the agent does not accept the signal, the signal ends
// this process at once. If launcher, connection, agent or this process ends, no process of the job is left here.
#pragma once

#include <functional>

#include "dialback/carrier.h"
#include "dialback/end_signals.h"
#include "dialback/introduction.h"

namespace dlaunch::dialback {

/// How a node starts its agent.
struct LocalAgent {
  std::function<Result<sys::Fd>()> start;  ///< returns the agent's link
  /// Signals the agent with TERM, INT or HUP: the part of this machine in the job ends; or with USR1 or USR2. Returns
  /// false if the agent no longer accepts signals.
  std::function<bool(int signal)> forward;
  /// Call after the link is closed; waits, for a bounded time, until no process of the agent is left.
  std::function<void()> end;
};

class NodeService {
 public:
  /// All objects used by `agent` and the signals must outlive this object.
  NodeService(LauncherConnection connection, LocalAgent agent, EndSignals& signals);

  /// Returns the job's exit code, as sent by the launcher.
  Result<int> run();

 private:
  void take_record(const SealedRecord& record);
  void start_agent();
  void agent_ended();
  Result<int> over(Result<int> how);
  tl::unexpected<Error> launcher_lost(std::string why) const;

  const LocalAgent agent_;
  EndSignals& signals_;
  const std::string launcher_;  // its address
  Carrier carrier_;
  bool agent_runs_ = false;
  std::optional<int> outcome_;
  std::optional<Error> refusal_;
};

}  // namespace dlaunch::dialback
