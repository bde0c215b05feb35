// What a node does once its launcher has admitted it: it starts an agent when the launcher first speaks to it, carries
// its link, and ends as the job does. A signal to end goes to the agent, which tells the launcher (TerminationNotice),
// and the job ends; one that the agent is not told, or without an agent, ends this process at once. Whatever ends
// first, the launcher, the connection, the agent or this process, nothing of the job is left here.
#pragma once

#include <functional>

#include "dialback/carrier.h"
#include "dialback/end_signals.h"
#include "dialback/introduction.h"

namespace dlaunch::dialback {

/// How a node starts its agent.
struct LocalAgent {
  std::function<Result<sys::Fd>()> start;  ///< its link
  /// By TERM, INT or HUP, that this machine's part in the job ends; false: it is told no more.
  std::function<bool(int signal)> tell_to_end;
  std::function<void()> end;  ///< once its link is closed: waits, for a bounded time, until nothing of it is left
};

class NodeService {
 public:
  /// What `agent` and the signals refer to must outlive this.
  NodeService(LauncherConnection connection, LocalAgent agent, EndSignals& signals);

  /// The job's exit code, as the launcher tells it.
  Result<int> run();

 private:
  void hear(const SealedRecord& record);
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
