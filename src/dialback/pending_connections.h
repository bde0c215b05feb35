// Connections to a launcher's listening socket until each peer has proved its knowledge of the job's key and sent its
// first record. Unauthenticated connections cost little and delay no other connection: few bytes of memory, a limited
// number, and no work after a wrong first byte. Passive: the owner polls.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/job_key.h"
#include "dialback/sealed_socket.h"
#include "net/tcp.h"

namespace dlaunch::dialback {

// Messages for the user while nodes and launcher connect.

struct Messages {
  std::function<void(const std::string&)> info;  ///< printed with -v
  std::function<void(const std::string&)> note;
};

class PendingConnections {
 public:
  /// Like MaxStartups of OpenSSH: above this limit, a new connection closes the oldest connection.
  static constexpr size_t kMostUnauthenticated = 128;
  static constexpr std::chrono::seconds kHandshakeLimit{10};

  /// Receives each peer with the key: its first record and its address. May take the socket.
  using OnFirstRecord =
      std::function<void(SealedSocket& socket, const std::string& address, const SealedRecord& record)>;

  PendingConnections(net::ListeningSocket listener, const Secret& key, OnFirstRecord on_first_record);
  ~PendingConnections();

  const Endpoint& at() const { return listener_.at; }
  void watch(std::vector<pollfd>& polled) const;
  /// `polled`: the first entry appended by watch().
  void turn(const pollfd* polled, Time now);
  /// Closes the listening socket and all connections.
  void close();

  size_t wrong_keys() const { return wrong_keys_; }
  /// The number and addresses of rejected connections, for the user; empty: none.
  std::string rejected_text() const;

 private:
  struct Pending;

  void accept_some();
  void make_room();
  void count_rejected(const Pending& connection);
  /// Processes the received bytes. Returns false if the connection is admitted or must be dropped.
  bool receive(Pending& connection);
  bool receive_handshake(Pending& connection);

  net::ListeningSocket listener_;
  const Secret key_;
  const OnFirstRecord on_first_record_;
  std::vector<std::unique_ptr<Pending>> pending_;
  size_t not_dlaunch_ = 0;  // connections that sent no bytes, or bytes of another program
  size_t wrong_keys_ = 0;
  std::set<std::string> addresses_;  // a few addresses of both kinds
};

}  // namespace dlaunch::dialback
