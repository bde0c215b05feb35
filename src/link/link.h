// One framed byte stream between launcher and agent: messages in, messages out, and why it ended. Both sides use it. No
// call-back comes after close() or destruction. The io_context must outlive it.
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
    /// `fds`: descriptors that came with the stream, oldest first; the handler takes those that its message announces.
    std::function<void(wire::Message&&, std::deque<sys::Fd>& fds)> message;
    /// The stream ended ("closed by the other side", a bad frame, an errno's text). Called once, last, never
    /// from within send() or flush().
    std::function<void(const std::string& why)> ended;
    /// Bytes waiting to be sent fell below kLowWater after having been above it. May be empty.
    std::function<void()> drained;
  };
  static constexpr size_t kLowWater = 64u << 10;
  static constexpr size_t kHighWater = 256u << 10;  ///< a sender of bulk data stops above this

  static constexpr size_t kMostFds = 2;  ///< the most that one message announces

  /// A pair of descriptors, such as two pipes; both become non-blocking. `from`: who is on the other side.
  Link(asio::io_context& io, sys::Fd in, sys::Fd out, wire::Sender from = wire::Sender::any);
  /// One socket for both directions.
  explicit Link(asio::io_context& io, sys::Fd socket, wire::Sender from = wire::Sender::any);
  ~Link();

  /// `first`: bytes of the stream that were already read.
  void start(Handlers handlers, const std::string& first = {});
  /// Queues the message, which is sent when this turn of the loop is over, sooner when much waits. No-op once ended.
  void send(const wire::Message& message, std::vector<sys::Fd> fds = {});
  size_t waiting() const;
  /// Sends as much of the queue as the other side takes now; once it is empty, releases its memory.
  void flush();
  /// The descriptor that must become writable before more can be sent; none when nothing waits or the stream ended.
  std::optional<int> blocked_on() const;
  /// Calls `then` once, as soon as nothing waits to be sent, which may be at once. For a last message before exit.
  void when_sent(std::function<void()> then);
  void close();

 private:
  class Impl;  // shared with the loop's call-backs, so that a Link may be destroyed inside one of its own
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
