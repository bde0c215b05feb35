// accept(2) is replaced by the filter in this program, as in dlaunch-pmix.
#include "pmix/bridge/connection_proxy.h"

#include <sys/un.h>

#include <thread>

#include "loopback.h"

namespace dlaunch::pmix {
namespace {

sys::Fd accepted(const Listener& listener) { return sys::Fd(::accept(listener.socket.get(), nullptr, nullptr)); }

TEST(AcceptFilter, AcceptsItsOwnConnection) {
  AcceptFilter gate;
  const Listener listener;
  const sys::Fd ours = gate.dial(listener.port);
  ASSERT_TRUE(ours);
  const sys::Fd theirs = accepted(listener);
  ASSERT_TRUE(theirs);
  write_all(ours, "hello");
  EXPECT_EQ(read_some(theirs), "hello");
}

TEST(AcceptFilter, ReturnsAClosedConnectionInsteadOfAForeignOne) {
  const AcceptFilter gate;
  const Listener listener;
  const sys::Fd stranger = connect_to(listener.port);
  write_all(stranger, "hello");
  const sys::Fd theirs = accepted(listener);
  ASSERT_TRUE(theirs) << "libpmix takes an error for the end of its port";
  EXPECT_EQ(read_some(theirs), "");
  EXPECT_EQ(read_some(stranger), "");
}

TEST(AcceptFilter, AcceptsEachOwnConnectionOnce) {
  AcceptFilter gate;
  const Listener listener;
  const sys::Fd ours = gate.dial(listener.port);
  ASSERT_TRUE(ours);
  const sys::Fd stranger = connect_to(listener.port);
  write_all(ours, "ours");
  const sys::Fd first = accepted(listener);
  const sys::Fd second = accepted(listener);
  EXPECT_EQ(read_some(first), "ours");
  EXPECT_EQ(read_some(second), "");
}

TEST(AcceptFilter, DialFailsWithoutAListener) {
  AcceptFilter gate;
  std::uint16_t free = 0;
  {
    const Listener listener;
    free = listener.port;
  }
  EXPECT_FALSE(gate.dial(free));
}

TEST(AcceptFilter, DetectsThatNobodyAccepts) {
  const AcceptFilter gate;
  const Listener listener;
  EXPECT_FALSE(AcceptFilter::serves(listener.port, std::chrono::milliseconds(50)));
  std::jthread libpmix([&] { sys::Fd(accepted(listener)), sys::Fd(accepted(listener)); });
  EXPECT_TRUE(AcceptFilter::serves(listener.port, std::chrono::seconds(10)));
}

TEST(AcceptFilter, DoesNotFilterOtherSockets) {
  const AcceptFilter gate;
  const sys::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un none{AF_UNIX, {}};
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&none), sizeof(sa_family_t)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  sockaddr_un address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const sys::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  const sys::Fd theirs(::accept(listener.get(), nullptr, nullptr));
  ASSERT_TRUE(theirs);
  write_all(client, "hello");
  EXPECT_EQ(read_some(theirs), "hello");
}

}  // namespace
}  // namespace dlaunch::pmix
