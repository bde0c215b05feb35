// Reaches the nodes of a gathering: each is asked for once, and its connection is there already. Owned by
// app/same_line.cpp; it outlives the session that it is lent to, because nodes hear last how the job ended.
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
  /// Throws when there is no thread to be had.
  explicit Nodes(std::vector<JoinedNode> joined);
  /// Closes what is open; nodes that heard no outcome take the launcher for lost.
  ~Nodes() override;

  /// Of a host whose Reach names a node. A second time it fails: no other connection will come.
  Result<transport::Connection> open(const plan::Host& host) override;
  void close() override {}
  /// Tells every node that is still there the job's exit code, and waits for a bounded time until it has heard it.
  void end(int exit_code);

 private:
  std::vector<std::shared_ptr<NodeConnection>> connections_;  // by node, from 1
  PumpThread pump_;
};

}  // namespace dlaunch::dialback
