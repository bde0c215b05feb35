// Bytes to messages and back. A frame is: length (u32, of what follows), type (u8), fields in order. Little-endian.
// Strings and lists are a u32 count and their items. Every size is checked against the cap of its message type before
// more is kept; a bad frame is an Error, never a crash. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// Appends the frame to `out`. When the message is over a cap, throws std::length_error and leaves `out` as it was:
/// whoever puts a user's text into a message must bound it first.
void encode(const Message& message, std::string& out);

/// Whether encode() accepts the message.
bool fits(const Message& message);

/// Reassembles frames from a stream that is cut anywhere. It must not be used after an Error.
class Decoder {
 public:
  /// A frame of a type that `from` may not send is an Error.
  explicit Decoder(Sender from = Sender::any) : from_(from) {}

  void feed(std::string_view bytes);

  /// The next whole message; nullopt when more bytes are needed.
  Result<std::optional<Message>> next();

  /// How many bytes of memory it holds.
  size_t capacity() const { return buffer_.capacity(); }

 private:
  std::string buffer_;
  Sender from_;
  size_t start_ = 0;  // index of the first byte not yet decoded
};

}  // namespace dlaunch::wire
