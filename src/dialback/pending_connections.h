// Connections to a launcher's listening socket, until each has proved that it has the job's key and said its first
// record. Unauthenticated ones cost little and delay nobody: a few bytes of memory each, a limited number, no work
// beyond a wrong first byte. Passive: its owner polls.
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
#include "dialback/listening_socket.h"
#include "dialback/sealed_socket.h"

namespace dlaunch::dialback {

class PendingConnections {
 public:
  static constexpr size_t kMostUnauthenticated = 128;  ///< as OpenSSH's MaxStartups: the oldest make room
  static constexpr std::chrono::seconds kHandshakeLimit{10};

  /// Hears of each that has the key: its first record, and the address from which it connected. It may take the socket.
  using Said = std::function<void(SealedSocket& socket, const std::string& address, const SealedRecord& record)>;

  PendingConnections(ListeningSocket listener, const Secret& key, Said said);
  ~PendingConnections();

  const Endpoint& at() const { return listener_.at; }
  void watch(std::vector<pollfd>& polled) const;
  /// `polled`: the first of those that watch() appended.
  void turn(const pollfd* polled, Time now);
  /// Closes the listening socket and all connections.
  void close();

  size_t wrong_keys() const { return wrong_keys_; }
  /// How many connections were rejected, and from where, for a person; empty: none.
  std::string rejected_text() const;

 private:
  struct Pending;

  void accept_some();
  void make_room();
  void count_rejected(const Pending& connection);
  /// What it has said by now. False when it is in, or to be forgotten.
  bool hear(Pending& connection);
  bool hear_handshake(Pending& connection);

  ListeningSocket listener_;
  const Secret key_;
  const Said said_;
  std::vector<std::unique_ptr<Pending>> pending_;
  size_t not_dlaunch_ = 0;  // connections that said nothing, or what no dlaunch says
  size_t wrong_keys_ = 0;
  std::set<std::string> addresses_;  // a few of both
};

}  // namespace dlaunch::dialback
