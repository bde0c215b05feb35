// Carries the bytes of an agent's link between a local stream socket and a sealed connection, both ways, with
// back-pressure: what one side does not take is not read from the other. The launcher has one for each node, a node has
// one. Passive: its owner polls.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "dialback/sealed_socket.h"

namespace dlaunch::dialback {

class Carrier {
 public:
  /// `told` hears of every record, before its data are written; it may attach() then.
  Carrier(SealedSocket socket, std::function<void(const SealedRecord&)> told);

  SealedSocket& socket() { return socket_; }
  const SealedSocket& socket() const { return socket_; }
  /// The local side; it becomes non-blocking.
  void attach(sys::Fd local);
  bool attached() const { return static_cast<bool>(local_); }
  /// Closes the local side, whose other end sees the end of the stream.
  void detach();
  /// The other end of the local side has closed it: nothing more comes from there.
  bool local_ended() const { return local_ended_; }
  /// Whether the other end has hung up: true also while its last bytes still wait to be read.
  bool local_hung_up() const;
  /// The connection is over, and all that came of it was taken.
  bool finished() const { return socket_.over() && to_local_.empty(); }
  /// All that was read from the local side has left this process.
  bool idle() const { return socket_.waiting() == 0; }

  static constexpr size_t kPolled = 2;  ///< entries that watch() appends, and turn() gets
  void watch(std::vector<pollfd>& polled) const;
  void turn(const pollfd* polled);

 private:
  void take_records();
  void write_local();
  void read_local();

  SealedSocket socket_;
  std::function<void(const SealedRecord&)> told_;
  sys::Fd local_;
  std::string to_local_;
  bool more_ = false;  // records may have come that are not taken yet
  bool local_ended_ = false;
  bool data_ended_ = false;  // the other side has said that no more data come
};

}  // namespace dlaunch::dialback
