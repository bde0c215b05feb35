#include "sys/reserved_ports.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace dlaunch::sys {
namespace {

/// Binds on 127.0.0.1, like the server of a rank.
Fd bind_loopback(int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

int port_of(const Fd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

TEST(ReservedPorts, CannotBeBoundBeforeRelease) {
  auto held = ReservedPorts::take(2, [](int index) { return 23400 + index; }, 1000);
  ASSERT_TRUE(held) << to_text(held.error());
  ASSERT_EQ(held->ports().size(), 2U);
  for (const int port : held->ports()) EXPECT_FALSE(bind_loopback(port)) << port;
  held->release();
  for (const int port : held->ports()) EXPECT_TRUE(bind_loopback(port)) << port;
}

TEST(ReservedPorts, SkipPortsInUse) {
  const Fd other = bind_loopback(0);
  const int taken = port_of(other);
  const auto held = ReservedPorts::take(1, [&](int index) { return index == 0 ? taken : 23400 + index; }, 1000);
  ASSERT_TRUE(held);
  EXPECT_NE(held->ports()[0], taken);
}

TEST(ReservedPorts, RejectTooFewPorts) {
  const Fd other = bind_loopback(0);
  const int taken = port_of(other);
  const auto held = ReservedPorts::take(1, [&](int) { return taken; }, 3);
  ASSERT_FALSE(held);
  EXPECT_THAT(to_text(held.error()), testing::HasSubstr("not enough free TCP ports: 1 required, 0 found"));
}

}  // namespace
}  // namespace dlaunch::sys
