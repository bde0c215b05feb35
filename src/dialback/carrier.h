// Copies the bytes of an agent's link between a local stream socket and a sealed connection, both ways, with
// back-pressure: bytes are read only if the other side accepts them. The launcher has a Carrier per node, a node has
// one in total. Passive: the owner polls.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "dialback/sealed_socket.h"

namespace dlaunch::dialback {

class Carrier {
 public:
  /// `on_record` receives each record before its data are written; attach() may be called there.
  Carrier(SealedSocket socket, std::function<void(const SealedRecord&)> on_record);

  SealedSocket& socket() { return socket_; }
  const SealedSocket& socket() const { return socket_; }
  /// Sets the local side; the socket becomes non-blocking.
  void attach(sys::Fd local);
  bool attached() const { return static_cast<bool>(local_); }
  /// Closes the local side; its other end sees the end of the stream.
  void detach();
  /// True if the other end of the local side is closed: no more bytes come from there.
  bool local_ended() const { return local_ended_; }
  /// True if the other end has hung up, even while its last bytes are unread.
  bool local_hung_up() const;
  /// True if the connection is closed and all received bytes were taken.
  bool finished() const { return socket_.over() && to_local_.empty(); }
  /// True if all bytes read from the local side have left this process.
  bool idle() const { return socket_.waiting() == 0; }

  static constexpr size_t kPolled = 2;  ///< number of entries that watch() appends and turn() receives
  void watch(std::vector<pollfd>& polled) const;
  void turn(const pollfd* polled);

 private:
  void take_records();
  void write_local();
  void read_local();

  SealedSocket socket_;
  std::function<void(const SealedRecord&)> on_record_;
  sys::Fd local_;
  std::string to_local_;
  bool more_ = false;  // received records may be waiting
  bool local_ended_ = false;
  bool data_ended_ = false;  // the other side sends no more data
};

}  // namespace dlaunch::dialback
