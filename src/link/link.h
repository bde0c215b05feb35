// One framed byte stream between launcher and agent: messages in both directions, and the reason of its end. Both sides
// use this class. No callback comes after close() or destruction. The io_context must outlive the link.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "wire/codec.h"

namespace dlaunch::link {

class Link {
 public:
  struct Handlers {
    /// `fds`: descriptors received with the stream, oldest first. The handler takes the descriptors that its message
    /// announces.
    std::function<void(wire::Message&&, std::deque<sys::Fd>& fds)> message;
    /// The stream ended. The text is "closed by the other side", a bad frame, or an errno's text. The last call, once,
    /// never from within send() or flush().
    std::function<void(const std::string& why)> ended;
    /// The number of unsent bytes fell below kLowWater after it was above. May be empty.
    std::function<void()> drained;
  };
  static constexpr size_t kLowWater = 64u << 10;
  static constexpr size_t kHighWater = 256u << 10;  ///< a sender of bulk data stops above this number of bytes

  static constexpr size_t kMostFds = 2;  ///< limit of descriptors for one message

  /// Two descriptors, such as pipes; both become non-blocking. `from` names the peer.
  Link(asio::io_context& io, sys::Fd in, sys::Fd out, wire::Sender from = wire::Sender::any);
  /// One socket for both directions.
  explicit Link(asio::io_context& io, sys::Fd socket, wire::Sender from = wire::Sender::any);
  ~Link();

  /// `first`: bytes of the stream that were read before.
  void start(Handlers handlers, const std::string& first = {});
  /// Queues the message. The frame is sent at the end of this turn of the loop, or earlier if many bytes wait. No
  /// effect after the end.
  void send(const wire::Message& message, std::vector<sys::Fd> fds = {});
  size_t waiting() const;
  /// Whether bytes of the peer, or the end of the stream, wait to be read.
  bool readable() const;
  /// Whether the peer has ended the stream; its last bytes may still be unread.
  bool peer_ended() const;
  /// Sends as many bytes as the peer accepts now. Releases the memory of an empty queue.
  void flush();
  /// The descriptor that must become writable before the next send; empty if no bytes wait or the stream ended.
  std::optional<int> blocked_on() const;
  /// Calls `then` once, as soon as the queue is empty, also immediately. For a last message before the exit.
  void when_sent(std::function<void()> then);
  void close();

 private:
  class Impl;  // shared with the callbacks in the loop, so that a callback may destroy its Link
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
