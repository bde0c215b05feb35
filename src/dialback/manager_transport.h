// Connects to hosts through agents that a resource manager's command starts and that connect to the launcher. One
// command starts the agents of a series of open() calls. After a failure or the end of a link, the next open() for the
// host uses the other transport.
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
  /// `messages` may be called from other threads. If `again` is null, the manager's command is used for each attempt.
  ManagerTransport(DialIn how, Welcome welcome, Messages messages, std::unique_ptr<transport::Transport> again);
  ~ManagerTransport() override;

  Result<transport::Connection> open(const plan::Host& host) override;
  void open_together() override;
  void close() override;

 private:
  const DialIn how_;
  const Welcome welcome_;
  const Messages messages_;
  const std::unique_ptr<transport::Transport> again_;
  PumpThread pump_;
  struct Running {
    std::shared_ptr<AgentGroup> group;
    sys::Thread thread;
  };
  std::vector<Running> running_;
  std::vector<AgentGroup::Awaited> asked_;  // until open_together()
  std::set<std::string> known_;             // names of the hosts passed to open()
};

}  // namespace dlaunch::dialback
