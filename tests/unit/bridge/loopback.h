// TCP connections on 127.0.0.1, like connections of PMIx clients.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace dlaunch::pmix {

/// Listens at a port that the kernel chooses.
struct Listener {
  Listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), where, size), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    EXPECT_EQ(::getsockname(socket.get(), where, &size), 0);
    port = ntohs(address.sin_port);
  }
  sys::Fd socket;
  std::uint16_t port = 0;
};

/// Connects without a greeting.
inline sys::Fd connect_to(std::uint16_t port) {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

/// Whether the descriptor has bytes to read, a connection to accept, or an end of file.
inline bool is_ready(const sys::Fd& fd) {
  pollfd ready{fd.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

/// Reads from a socket that is ready. Empty at its end.
inline std::string read_some(const sys::Fd& socket) {
  std::array<char, 4096> bytes;
  const ssize_t size = ::read(socket.get(), bytes.data(), bytes.size());
  return size > 0 ? std::string(bytes.data(), static_cast<size_t>(size)) : std::string();
}

inline void write_all(const sys::Fd& socket, std::string_view bytes) {
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

}  // namespace dlaunch::pmix
