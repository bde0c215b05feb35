// A TCP connection to an authenticated peer: records in, records out. Passive: the owner polls.
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
  /// The interval of heartbeats, and the maximum silence of the peer.
  static constexpr std::chrono::seconds kBeat{5};
  static constexpr std::chrono::seconds kLongestSilence{15};

  /// The socket becomes non-blocking.
  SealedSocket(sys::Fd socket, const SessionKeys& keys);

  const sys::Fd& fd() const { return socket_; }
  /// Queues a record; flush() sends the record. `last`: no record may follow.
  void send(SealedRecord::Kind kind, std::string_view payload = {}, bool last = false);
  size_t waiting() const { return out_.size(); }
  /// Writes as many bytes as the connection accepts now.
  void flush();
  /// Reads the available bytes, at most 64 KiB.
  void receive();
  /// The next received record.
  std::optional<SealedRecord> next();
  /// Queues an `alive` record at each interval.
  void beat(Time now);
  Time next_beat() const { return next_beat_; }
  bool silent(Time now) const { return now - last_received_ > kLongestSilence; }
  /// True if the connection cannot be used any more; why() returns the reason.
  bool over() const { return over_; }
  const std::string& why() const { return why_; }
  /// Stops sending; bytes already sent are still delivered.
  void finish_sending();

 private:
  void end(std::string why);

  sys::Fd socket_;
  Sealer sealer_;
  Opener opener_;
  std::string out_;
  Time last_received_;
  Time next_beat_;
  bool last_sent_ = false;
  bool over_ = false;
  std::string why_;
};

/// Sends to each peer its last queued record. Waits until the peers have received their records, or until the deadline.
void send_last_records(std::vector<SealedSocket*> sockets, Time deadline);

}  // namespace dlaunch::dialback
