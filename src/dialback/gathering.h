// How a launcher comes to its nodes: it listens until each of them has connected, proved that it has the job's key, and
// stated that it was started for the same job.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/end_signals.h"
#include "dialback/messages.h"
#include "dialback/pending_connections.h"
#include "dialback/sealed_socket.h"
#include "dialback/statement.h"

namespace dlaunch::dialback {

/// A node that is in.
struct JoinedNode {
  Statement statement;
  std::string address;  ///< from which it connected, numeric
  SealedSocket socket;
};

class Gathering {
 public:
  struct Settings {
    Secret key;
    Statement self;  ///< the launcher's own
    std::string job_id;
    int least = self.nodes;  ///< of the nodes, the launcher among them: so many will do once `last_call` is over
    Duration last_call{0};   ///< without one more node
    Time deadline;
    Messages messages;
  };

  Gathering(ListeningSocket listener, Settings settings);

  /// Nodes 1, 2, … in this order. Those that are unnumbered get the free numbers, in the order of their names and
  /// addresses, so that a job has the same one however fast its nodes are. The listening socket is closed then. On an
  /// Error every node that is in was told of it.
  Result<std::vector<JoinedNode>> run(EndSignals& signals);

 private:
  bool complete(Time now) const;
  bool enough() const { return joined_.size() + 1 >= static_cast<size_t>(settings_.least); }
  void wait(int ended);
  void judge(SealedSocket& socket, const std::string& address, const SealedRecord& record);
  void admit(SealedSocket& socket, const std::string& address, const Statement& statement);
  void refuse(SealedSocket& socket, const Error& error) const;
  void look_at_joined(Time now);
  tl::unexpected<Error> give_up(Error error);
  Error too_late() const;
  std::string missing() const;
  void number_nodes();

  const Settings settings_;
  PendingConnections pending_;
  Time next_look_;
  Time next_told_;
  Time changed_;                      // when a node came or left
  std::map<int, JoinedNode> joined_;  // by number; those without one behind all numbers
  int next_unnumbered_ = settings_.self.nodes;
  std::optional<Error> mismatch_;  // a node was started for another job
};

}  // namespace dlaunch::dialback
