#include "dialback/nodes.h"

#include <string>
#include <utility>

#include "sys/io.h"

namespace dlaunch::dialback {

Nodes::Nodes(std::vector<JoinedNode> joined) {
  for (JoinedNode& each : joined) {
    connections_.push_back(std::make_shared<NodeConnection>());
    pump_->add(std::move(each.socket), connections_.back());
  }
  pump_.start();
}

Nodes::~Nodes() { pump_.stop(); }

Result<transport::Connection> Nodes::open(const plan::Host& host) {
  const auto& connection = connections_.at(static_cast<size_t>(host.reach.node.value()) - 1);
  if (!connection->taken()) return NodeConnection::connection(connection);
  if (connection->reason().nothing_left) {  // a stream at its end, with the reason
    return transport::Connection{.stream = sys::make_socketpair().first,
                                 .disconnect = [connection] { return connection->reason(); }};
  }
  return fail({host.name, "cannot connect to the node again",
               "nodes connect to node 0; node 0 cannot connect to a node", "", kExitHostLost});
}

void Nodes::end(int exit_code) { pump_.finish(exit_code); }

}  // namespace dlaunch::dialback
