// How launcher and nodes of --same-line meet. The launcher collects its nodes: it listens until each node has
// connected, proved its knowledge of the job's key, and stated that it was started for the same job. A node repeats its
// attempt to connect until the launcher admits the node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/end_signals.h"
#include "dialback/introduction.h"
#include "dialback/job_key.h"
#include "dialback/pending_connections.h"
#include "dialback/pump.h"
#include "dialback/sealed_socket.h"
#include "dialback/statement.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

/// An admitted node.
struct JoinedNode {
  Statement statement;
  std::string address;  ///< the node's address, numeric
  SealedSocket socket;
};

class Gathering {
 public:
  struct Settings {
    Secret key;
    Statement self;  ///< of the launcher
    Welcome welcome;
    int least = self.nodes;  ///< minimum number of nodes, including the launcher; accepted after `last_call`
    Duration last_call{0};   ///< wait after the last change in the set of nodes
    Time deadline;
    Messages messages;
  };

  Gathering(net::ListeningSocket listener, Settings settings);

  /// Returns nodes 1, 2, … in this order. Nodes without a number get the free numbers, in the order of their names and
  /// addresses: the result does not depend on the speed of the nodes. The listening socket is closed afterwards. Before
  /// an Error is returned, all admitted nodes receive the Error.
  Result<std::vector<JoinedNode>> run(EndSignals& signals);

 private:
  bool complete(Time now) const;
  bool enough() const { return joined_.size() + 1 >= static_cast<size_t>(settings_.least); }
  void wait(int ended);
  void check_node(SealedSocket& socket, const std::string& address, const SealedRecord& record);
  void admit(SealedSocket& socket, const std::string& address, const Statement& statement);
  void refuse(SealedSocket& socket, const Error& error) const;
  void check_joined(Time now);
  tl::unexpected<Error> give_up(Error error);
  Error too_late() const;
  std::string missing() const;
  void number_nodes();

  const Settings settings_;
  Time deadline_;  // settings_.deadline, and the time in which this process was stopped
  PendingConnections pending_;
  Time next_check_;
  Time next_note_;
  Time changed_;                      // the last time a node joined or left
  std::map<int, JoinedNode> joined_;  // by number; nodes without a number follow all others
  int next_unnumbered_ = settings_.self.nodes;
  std::optional<Error> mismatch_;  // a node was started for another job
};

/// The transport for the nodes of a gathering: their connections already exist, and open() is called once per node.
/// Owned by app/same_line.cpp; must outlive the session, because the nodes receive the job's result last.
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
  /// Sends the job's exit code to all connected nodes. Waits a limited time for the receipt.
  void end(int exit_code);

 private:
  std::vector<std::shared_ptr<NodeConnection>> connections_;  // by node, from 1
  PumpThread pump_;
};

/// Connects a node to its launcher (introduction.h). Tries until the deadline. A launcher with another key or another
/// job ends the attempts at once.
Result<LauncherConnection> meet_launcher(const Endpoint& where, const Secret& key, const Statement& self, Time deadline,
                                         EndSignals& signals, const Messages& messages);

}  // namespace dlaunch::dialback
