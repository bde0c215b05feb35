// One side of a link, for a test that sends valid frames of src/wire and also invalid bytes. Each call throws Gone once
// the other side has closed the link.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wire/codec.h"

namespace dlaunch::hostile {

class Peer {
 public:
  struct Gone {};  ///< thrown when the other side has closed the link

  Peer(int in, int out) : in_(in), out_(out) {}

  void send(const wire::Message& message) {
    std::string bytes;
    wire::encode(message, bytes);
    send_bytes(bytes);
  }
  void send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = ::write(out_, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) throw Gone{};
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
  /// Sends a frame with the length field `length`, but only `fields` after its type.
  void send_raw(std::uint32_t length, std::uint8_t type, std::string_view fields) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
    bytes += static_cast<char>(type);
    send_bytes(bytes.append(fields));
  }
  void send_raw(std::uint8_t type, std::string_view fields) {
    send_raw(static_cast<std::uint32_t>(fields.size()) + 1, type, fields);
  }

  /// Returns the next message of type T, and drops those before it.
  template <class T>
  T expect() {
    for (;;) {
      wire::Message message = next();
      if (T* wanted = std::get_if<T>(&message)) return std::move(*wanted);
    }
  }
  wire::Message next() {
    for (;;) {
      auto message = decoder_.next();
      if (!message) throw Gone{};
      if (*message) return std::move(**message);
      receive();
    }
  }
  /// Reads and drops what has arrived, without waiting for more.
  void drain() {
    pollfd ready{in_, POLLIN, 0};
    while (::poll(&ready, 1, 0) > 0) receive();
    while (const auto message = decoder_.next()) {
      if (!*message) break;
    }
  }
  /// Reads and drops messages until the other side has closed the link.
  [[noreturn]] void until_gone() {
    for (;;) next();
  }
  /// Reads and sends nothing until the other side has closed the link.
  [[noreturn]] void deaf_until_gone() {
    pollfd hung_up{out_, 0, 0};
    while (::poll(&hung_up, 1, 20000) > 0 && (hung_up.revents & (POLLERR | POLLHUP)) == 0) {
    }
    throw Gone{};
  }

 private:
  void receive() {
    static char buffer[1u << 16];
    const ssize_t size = ::read(in_, buffer, sizeof buffer);
    if (size <= 0) throw Gone{};
    decoder_.feed({buffer, static_cast<size_t>(size)});
  }

  const int in_;
  const int out_;
  wire::Decoder decoder_;
};

}  // namespace dlaunch::hostile
