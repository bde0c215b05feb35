// Connections by TCP to one of several addresses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "sys/io.h"
#include "sys/tcp.h"

namespace dlaunch::sys {
namespace {

constexpr std::chrono::seconds kLimit{10};

struct Listener {
  explicit Listener(const std::string& host, int backlog = 8) : address(*numeric_address(host, 0)) {
    socket = Fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), address.get(), address.size), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes), &address.size), 0);
    if (backlog > 0) {
      EXPECT_EQ(::listen(socket.get(), backlog), 0);
    }
  }
  SocketAddress address;
  Fd socket;
};

struct Tcp : testing::Test {
  std::pair<Fd, Fd> ended = make_socketpair();  // `first` is readable after a write to `second`
};

TEST_F(Tcp, ConnectsWithABlockingSocketWithoutDelay) {
  const Listener listener("127.0.0.1");
  const auto connection = connect_tcp({listener.address}, Clock::now() + kLimit, ended.first.get());
  ASSERT_TRUE(connection);
  EXPECT_EQ(::fcntl(connection->socket.get(), F_GETFL) & O_NONBLOCK, 0);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  ::getsockopt(connection->socket.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
  EXPECT_EQ(no_delay, 1);
}

TEST_F(Tcp, ConnectsToTheNextAddressAfterARefusal) {
  const Listener closed("127.0.0.1", 0);
  const Listener open("127.0.0.1");
  const auto connection = connect_tcp({closed.address, open.address}, Clock::now() + kLimit, ended.first.get());
  ASSERT_TRUE(connection);
  EXPECT_EQ(connection->address, 1u);
}

TEST_F(Tcp, ReportsTheErrnoOfARefusal) {
  const Listener closed("127.0.0.1", 0);
  EXPECT_EQ(connect_tcp({closed.address}, Clock::now() + kLimit, ended.first.get()).error(), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({}, Clock::now() + kLimit, ended.first.get()).error(), EINVAL);
}

TEST_F(Tcp, EndsAtTheDeadlineAndAtARequest) {
  Listener full("127.0.0.1", 1);
  std::vector<Fd> queue;
  for (int i = 0; i < 3; ++i) {  // the backlog has room for two connections; the kernel drops the third SYN
    queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(queue.back().get(), full.address.get(), full.address.size);
  }
  const auto late = connect_tcp({full.address}, Clock::now() + std::chrono::milliseconds(20), ended.first.get());
  EXPECT_EQ(late.error(), ETIMEDOUT);
  ASSERT_EQ(::send(ended.second.get(), "x", 1, 0), 1);
  EXPECT_EQ(connect_tcp({full.address}, Clock::now() + kLimit, ended.first.get()).error(), ECANCELED);
}

TEST(NumericAddress, AcceptsBothFamiliesAndRejectsNames) {
  EXPECT_TRUE(numeric_address("127.0.0.1", 1));
  EXPECT_TRUE(numeric_address("::1", 1));
  EXPECT_FALSE(numeric_address("localhost", 1));
  EXPECT_FALSE(numeric_address("", 1));
  EXPECT_FALSE(numeric_address("10.0.0", 1));
}

}  // namespace
}  // namespace dlaunch::sys
