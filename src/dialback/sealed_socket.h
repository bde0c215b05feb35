// A TCP connection to a peer that proved itself: records in, records out. Passive: its owner polls it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/handshake.h"
#include "dialback/sealed_records.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class SealedSocket {
 public:
  /// How often each side says that it is there, and how long its silence may last.
  static constexpr std::chrono::seconds kBeat{5};
  static constexpr std::chrono::seconds kLongestSilence{15};

  /// The socket becomes non-blocking.
  SealedSocket(sys::Fd socket, const SessionKeys& keys);

  const sys::Fd& fd() const { return socket_; }
  /// Queues a record; flush() sends it. `last`: nothing may follow it.
  void send(SealedRecord::Kind kind, std::string_view payload = {}, bool last = false);
  size_t waiting() const { return out_.size(); }
  /// Writes as much as the connection takes now.
  void flush();
  /// Reads what is there, 64 KiB at most.
  void receive();
  /// The next record that was received.
  std::optional<SealedRecord> next();
  /// Sends an alive record when it is time for one.
  void beat(Time now);
  Time next_beat() const { return next_beat_; }
  bool silent(Time now) const { return now - heard_ > kLongestSilence; }
  /// The connection is of no use any more; why() says why.
  bool over() const { return over_; }
  const std::string& why() const { return why_; }
  /// Nothing more is sent; what was sent is still delivered.
  void finish_sending();

 private:
  void end(std::string why);

  sys::Fd socket_;
  Sealer sealer_;
  Opener opener_;
  std::string out_;
  Time heard_;
  Time next_beat_;
  bool last_sent_ = false;
  bool over_ = false;
  std::string why_;
};

/// Tells each peer the last record that is queued for it, and waits until it has taken it, or until the deadline.
void say_farewell(std::vector<SealedSocket*> sockets, Time deadline);

}  // namespace dlaunch::dialback
