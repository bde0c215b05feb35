// Encodes messages into bytes and decodes them. A frame has a length (u32, of the bytes after it), a type (u8) and the
// fields in order, little-endian. Strings and lists have a u32 count and their items. Every size is compared with the
// limit of its message type before memory is used. A bad frame is an Error, never a crash. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// Appends the frame to `out`. Throws std::length_error for a message above a limit, and leaves `out` unchanged: the
/// caller must limit the user's text in a message.
void encode(const Message& message, std::string& out);

/// Returns true if encode() accepts the message.
bool fits(const Message& message);

/// Reassembles frames from the pieces of a stream. Do not use the decoder after an Error.
class Decoder {
 public:
  /// A frame of a type that `from` must not send is an Error.
  explicit Decoder(Sender from = Sender::any) : from_(from) {}

  void feed(std::string_view bytes);

  /// The next whole message; nullopt: more bytes are needed.
  Result<std::optional<Message>> next();

  /// The allocated memory, in bytes.
  size_t capacity() const { return buffer_.capacity(); }

 private:
  std::string buffer_;
  Sender from_;
  size_t start_ = 0;  // index of the first undecoded byte
};

}  // namespace dlaunch::wire
