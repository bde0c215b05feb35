// Reaches hosts by agents that a resource manager's command starts, for all hosts that are asked for in a row at once,
// and that connect to us. A host for which that does not succeed, or whose link has ended, is reached by the other
// transport when it is asked for again.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dialback/agent_group.h"

namespace dlaunch::dialback {

class ManagerTransport : public transport::Transport {
 public:
  /// `messages` may be called by other threads. `again` may be null: each host is then started so however often.
  ManagerTransport(DialIn how, std::string job_id, Messages messages, std::unique_ptr<transport::Transport> again);
  ~ManagerTransport() override;

  Result<transport::Connection> open(const plan::Host& host) override;
  void open_together() override;
  void close() override;

 private:
  const DialIn how_;
  const std::string job_id_;
  const Messages messages_;
  const std::unique_ptr<transport::Transport> again_;
  PumpThread pump_;
  struct Running {
    std::shared_ptr<AgentGroup> group;
    sys::Thread thread;
  };
  std::vector<Running> running_;
  std::vector<AgentGroup::Awaited> asked_;  // until open_together()
  std::set<std::string> known_;             // names of hosts that were asked for
};

}  // namespace dlaunch::dialback
