// Bytes to messages and back. A frame is: length (u32, of what follows), type (u8), fields in order. Little-endian.
// Strings and lists are a u32 count and their items. Every size is capped, by the type of the message, before more of
// it is kept; a bad frame is an Error, never a crash. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// Appends the frame to `out`. Throws std::length_error, and leaves `out` as it was, when the message is over a cap:
/// whoever lets a user's text into a message bounds it first.
void encode(const Message& message, std::string& out);

/// Whether encode() takes it.
bool fits(const Message& message);

/// Reassembles frames from a stream cut anywhere. After an Error it must not be used again.
class Decoder {
 public:
  /// A frame that `from` may not send is a bad one.
  explicit Decoder(Sender from = Sender::any) : from_(from) {}

  void feed(std::string_view bytes);

  /// The next whole message; nullopt when more bytes are needed.
  Result<std::optional<Message>> next();

  /// Bytes of memory held.
  size_t capacity() const { return buffer_.capacity(); }

 private:
  std::string buffer_;
  Sender from_;
  size_t start_ = 0;  // of the first byte not yet decoded
};

}  // namespace dlaunch::wire
