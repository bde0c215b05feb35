// The transport for the nodes of a gathering: their connections already exist, and open() is called once per node.
// Owned by app/same_line.cpp; must outlive the session, because the nodes receive the job's result last.
#pragma once

#include <memory>
#include <vector>

#include "dialback/gathering.h"
#include "dialback/pump.h"
#include "sys/thread.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

class Nodes : public transport::Transport {
 public:
  /// Throws std::system_error if the thread cannot be created.
  explicit Nodes(std::vector<JoinedNode> joined);
  /// Closes the connections; nodes without a result treat the launcher as lost.
  ~Nodes() override;

  /// For a host with a node in its Reach. A second call for a node fails: the node does not connect again.
  Result<transport::Connection> open(const plan::Host& host) override;
  bool reconnects(const plan::Host&) const override { return false; }
  void close() override {}
  /// Sends the job's exit code to all connected nodes. Waits, for a bounded time, until they have received it.
  void end(int exit_code);

 private:
  std::vector<std::shared_ptr<NodeConnection>> connections_;  // by node, from 1
  PumpThread pump_;
};

}  // namespace dlaunch::dialback
