// One framed byte stream between launcher and agent: messages in, messages out, and why it ended. Both ends use it.
// Its owner must outlive no call-back: after close() or destruction none comes. The io_context must outlive it.
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
    /// `fds`: descriptors that came with the stream, oldest first; the handler takes those its message announces.
    std::function<void(wire::Message&&, std::deque<sys::Fd>& fds)> message;
    /// The stream ended ("closed by the other side", a bad frame, an errno's text). Called once, last, never
    /// from within send() or flush().
    std::function<void(const std::string& why)> ended;
    /// Bytes waiting to be sent fell below kLowWater after having been above it. May be empty.
    std::function<void()> drained;
  };
  static constexpr size_t kLowWater = 64u << 10;
  static constexpr size_t kHighWater = 256u << 10;  ///< a sender of bulk data stops above it

  static constexpr size_t kMostFds = 2;  ///< that one message announces

  /// A pair of descriptors, such as two pipes. Both become non-blocking. `from`: who is at the other end.
  Link(asio::io_context& io, sys::Fd in, sys::Fd out, wire::Sender from = wire::Sender::any);
  /// Both ways over one socket.
  explicit Link(asio::io_context& io, sys::Fd socket, wire::Sender from = wire::Sender::any);
  ~Link();

  /// `first`: bytes of the stream that were read before.
  void start(Handlers handlers, const std::string& first = {});
  /// Queued, sent when this turn of the loop is over (sooner when much is waiting). Nothing after the end.
  void send(const wire::Message& message, std::vector<sys::Fd> fds = {});
  size_t waiting() const;
  /// Sends what is queued as far as the other side takes it now; when that is all, gives its memory back.
  void flush();
  /// The descriptor that must become writable before more can be sent; none when nothing waits, or the stream ended.
  std::optional<int> blocked_on() const;
  /// Calls `then` once, when nothing waits to be sent any more; at once if so now. For a last word before exit.
  void when_sent(std::function<void()> then);
  void close();

 private:
  class Impl;  // shared with the loop's call-backs, so that a Link may go away inside one of its own
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
