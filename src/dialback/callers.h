// Those who connect to a launcher's door, until each has proved that it has the job's key and said its first record.
// Strangers cost little and delay nobody: a few bytes of memory each, of a limited number of them, and no work beyond a
// wrong first byte. Passive: its owner polls.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/door.h"
#include "dialback/job_key.h"
#include "dialback/sealed_socket.h"

namespace dlaunch::dialback {

class Callers {
 public:
  static constexpr size_t kMostStrangers = 128;  ///< connections that have not proved themselves; the oldest make room
  static constexpr std::chrono::seconds kHandshakeLimit{10};

  /// Hears of each that has the key: its first record, and the address from which it connected. It may take the socket.
  using Said = std::function<void(SealedSocket& socket, const std::string& address, const SealedRecord& record)>;

  Callers(Door door, const Secret& key, Said said);
  ~Callers();

  const Endpoint& at() const { return door_.at; }
  void watch(std::vector<pollfd>& polled) const;
  /// `polled`: the first of those that watch() appended.
  void turn(const pollfd* polled, Time now);
  /// Closes the door, and forgets who is there.
  void close();

  size_t wrong_keys() const { return wrong_keys_; }
  /// How many were none of ours, and from where, for a person; empty: nobody.
  std::string strangers() const;

 private:
  struct Caller;

  void accept_some();
  void make_room();
  void note_stranger(const Caller& caller);
  /// What it has said by now. False when it is in, or to be forgotten.
  bool hear(Caller& caller);
  bool hear_handshake(Caller& caller);

  Door door_;
  const Secret key_;
  const Said said_;
  std::vector<std::unique_ptr<Caller>> callers_;
  size_t strangers_ = 0;  // connections that said nothing, or what no dlaunch says
  size_t wrong_keys_ = 0;
  std::set<std::string> addresses_;  // a few of both
};

}  // namespace dlaunch::dialback
