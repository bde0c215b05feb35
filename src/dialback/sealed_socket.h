// A TCP connection to an authenticated peer: records in, records out. Passive: the owner polls.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialback/handshake.h"
#include "dialback/sealed_records.h"
#include "link/heartbeat.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class SealedSocket {
 public:
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
  /// From now on the peer must not be silent. Both sides use the same interval. `pause`: of link::Heartbeat.
  void begin_heartbeats(std::chrono::milliseconds interval, std::chrono::milliseconds pause = {});
  /// The connection ends if the peer's machine acknowledges no bytes for this time, or accepts none because the peer is
  /// stopped and its buffers are full. 0: the kernel's own limit.
  void limit_acknowledgement(std::chrono::milliseconds limit) const;
  /// Queues an `alive` record if the connection carried no other record for a time. The heartbeats of an agent's link
  /// arrive earlier, so a connection has one kind of heartbeat at a time.
  void beat(Time now);
  /// True if the peer missed its heartbeats.
  bool silent(Time now) { return heard_ && heard_->dead(now); }
  /// The times of the next calls of beat() and silent(); without heartbeats far away.
  Time next_beat() const { return next_beat_; }
  Time silent_at() const { return heard_ ? heard_->deadline() : Time::max(); }
  /// True if the connection cannot be used any more; why() returns the reason.
  bool over() const { return over_; }
  const std::string& why() const { return why_; }
  /// Stops sending; bytes already sent are still delivered.
  void finish_sending();

 private:
  void end(std::string why);
  void sent(Time now);

  sys::Fd socket_;
  Sealer sealer_;
  Opener opener_;
  std::string out_;
  std::optional<link::Heartbeat> heard_;
  Time next_beat_ = Time::max();
  bool last_sent_ = false;
  bool over_ = false;
  std::string why_;
};

/// Sends to each peer its last queued record. Waits until the peers have received their records, or until the deadline.
void send_last_records(std::vector<SealedSocket*> sockets, Time deadline);

}  // namespace dlaunch::dialback
