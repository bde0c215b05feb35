// The end of all waits in the ssh transport: by the watchdog, and for abandoned connections.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <thread>

#include "net/tcp.h"
#include "sys/io.h"
#include "temporary.h"
#include "transport/ssh/agent_proxy.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Blocks until a byte or the end of the stream arrives; returns the result of recv().
ssize_t wait_for_byte(const sys::Fd& fd) {
  char byte;
  return ::recv(fd.get(), &byte, 1, 0);
}

TEST(Watchdog, EndsWaitAtDeadline) {
  Watchdog watchdog;
  ASSERT_EQ(watchdog.start(), 0);
  auto [ours, theirs] = sys::make_socketpair();
  Watchdog::Guard guard = watchdog.watch(ours.get());
  const auto start = Clock::now();
  guard.expires_at(start + 50ms);
  EXPECT_EQ(wait_for_byte(ours), 0);
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_TRUE(guard.expired());
  EXPECT_FALSE(guard.ended());
}

TEST(Watchdog, UsesDeadlinePerSocket) {
  Watchdog watchdog;
  ASSERT_EQ(watchdog.start(), 0);
  auto [one, one_end] = sys::make_socketpair();
  auto [two, two_end] = sys::make_socketpair();
  Watchdog::Guard first = watchdog.watch(one.get());
  Watchdog::Guard second = watchdog.watch(two.get());
  first.expires_at(Clock::now() + 1h);
  second.expires_at(Clock::now() + 20ms);
  EXPECT_EQ(wait_for_byte(two), 0);
  EXPECT_FALSE(first.expired());
  first.expires_at(Clock::now());
  EXPECT_EQ(wait_for_byte(one), 0);
}

TEST(Watchdog, EndsAllCurrentAndLaterSockets) {
  Watchdog watchdog;
  ASSERT_EQ(watchdog.start(), 0);
  auto [one, one_end] = sys::make_socketpair();
  const Watchdog::Guard guard = watchdog.watch(one.get());
  std::thread waiting([&] { EXPECT_EQ(wait_for_byte(one), 0); });
  watchdog.end_all();
  waiting.join();
  EXPECT_TRUE(guard.ended());
  auto [two, two_end] = sys::make_socketpair();
  const Watchdog::Guard late = watchdog.watch(two.get());
  EXPECT_EQ(wait_for_byte(two), 0);
  pollfd ended{watchdog.ended()->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 0), 1);
}

TEST(Watchdog, MayBeDestroyedBeforeItsGuards) {
  auto [one, one_end] = sys::make_socketpair();
  std::optional<Watchdog::Guard> guard;
  {
    Watchdog watchdog;
    ASSERT_EQ(watchdog.start(), 0);
    guard.emplace(watchdog.watch(one.get()));
  }
  guard->expires_at(Clock::now());
  guard.reset();
}

/// A port on 127.0.0.1, listening or unused.
class Port {
 public:
  explicit Port(bool listens) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    number_ = ntohs(address.sin_port);
    if (listens) {
      EXPECT_EQ(::listen(socket_.get(), 0), 0);
    }
  }
  int number() const { return number_; }

 private:
  sys::Fd socket_;
  int number_ = 0;
};

class Connect : public testing::Test {
 protected:
  tl::expected<net::Connected, Disconnect> to(const std::string& name, int port, std::chrono::milliseconds limit = 5s) {
    return net::connect_to({.name = name, .port = port}, limit, ended_.get());
  }
  sys::Fd ended_{::eventfd(0, EFD_CLOEXEC)};
};

TEST_F(Connect, ConnectsToListeningAddress) {
  const Port port(true);
  const auto connected = to("localhost", port.number());
  ASSERT_TRUE(connected);
  EXPECT_EQ(connected->address, "127.0.0.1");
  EXPECT_EQ(::fcntl(connected->socket.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(connected->socket.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Connect, ReportsReasonOfFailure) {
  const Port port(false);
  const auto refused = to("127.0.0.1", port.number());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "cannot connect to port " + std::to_string(port.number()));
  EXPECT_EQ(refused.error().why, "Connection refused");
  EXPECT_EQ(refused.error().retry, Disconnect::Retry::when_up);
  const auto unknown = to("no-such-host.invalid", 22);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "cannot resolve the host name");
  EXPECT_FALSE(unknown.error().why.empty());
}

/// Fills the queue of a listener that accepts no connection: the next connection waits.
TEST_F(Connect, StopsAtDeadlineOrShutdown) {
  const Port port(true);
  const auto first = to("127.0.0.1", port.number());
  ASSERT_TRUE(first);
  const auto start = Clock::now();
  const auto late = to("127.0.0.1", port.number(), 100ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().why, "Connection timed out");
  EXPECT_LT(Clock::now() - start, 3s);
  std::thread ending([&] {
    std::this_thread::sleep_for(50ms);  // during the wait
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(ended_.get(), &one, sizeof one), 8);
  });
  EXPECT_FALSE(to("127.0.0.1", port.number(), 1h));
  ending.join();
  EXPECT_LT(Clock::now() - start, 5s);
}

/// An agent with three keys; libssh does not know the type of one key. Signs all data except for data that ends in
/// "refuse".
class FakeAgent {
 public:
  explicit FakeAgent(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 5), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeAgent() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  int connections() const { return connections_; }

  static std::string blob(const std::string& type) { return packed(type) + packed("key"); }

 private:
  void serve() {
    for (;;) {
      const sys::Fd client(::accept(listener_.get(), nullptr, nullptr));
      if (!client) return;
      ++connections_;
      while (answer(client)) {
      }
    }
  }

  bool answer(const sys::Fd& client) {
    std::string size(4, '\0');
    if (::recv(client.get(), size.data(), 4, MSG_WAITALL) != 4) return false;
    std::string_view rest = size;
    std::string request(unpack_number(rest).value(), '\0');
    if (::recv(client.get(), request.data(), request.size(), MSG_WAITALL) != static_cast<ssize_t>(request.size()))
      return false;
    const std::string keys = std::string(1, 12) + packed_number(3) + packed(blob("ssh-ed25519")) + packed("one") +
                             packed(blob("ssh-odd")) + packed("odd") + packed(blob("ssh-rsa")) + packed("two");
    const std::string signature = request.ends_with("refuse") ? "\x05" : "\x0e" + packed("signed:");
    const std::string bytes = packed(request[0] == 11 ? keys : signature);
    return ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  sys::Fd listener_;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

class Agents : public Temporary {
 protected:
  Agents() { EXPECT_EQ(watchdog_->start(), 0); }

  static std::string ask(const sys::Fd& agent, const std::string& request) {
    const std::string bytes = packed(request);
    EXPECT_EQ(::send(agent.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    std::string size(4, '\0');
    if (::recv(agent.get(), size.data(), 4, MSG_WAITALL) != 4) return "";
    std::string_view rest = size;
    std::string answer(unpack_number(rest).value(), '\0');
    EXPECT_EQ(::recv(agent.get(), answer.data(), answer.size(), MSG_WAITALL), static_cast<ssize_t>(answer.size()));
    return answer;
  }

  const std::shared_ptr<Watchdog> watchdog_ = std::make_shared<Watchdog>();
};

TEST_F(Agents, ServeManyHostsWithASingleConnection) {
  FakeAgent fake(path("agent"));
  {
    const auto agent = std::make_shared<AgentProxy>(path("agent"), watchdog_);
    std::vector<std::thread> hosts;
    for (int host = 0; host < 20; ++host) {
      hosts.emplace_back([&] {
        const auto keys = agent->keys();
        ASSERT_EQ(keys.size(), 2u);
        const sys::Fd shown = agent->show(keys);
        const std::string all = ask(shown, "\x0b");
        EXPECT_NE(all.find("ssh-ed25519"), std::string::npos);
        EXPECT_NE(all.find("ssh-rsa"), std::string::npos);
        EXPECT_EQ(all.find("ssh-odd"), std::string::npos);
        EXPECT_NE(ask(shown, "\x0d" + packed(keys[1].blob)).find("signed:"), std::string::npos);
        EXPECT_EQ(ask(shown, "\x0b"), all);
        EXPECT_EQ(ask(shown, "\x0d" + packed(keys[0].blob) + "refuse"), "\x05");
        EXPECT_EQ(ask(shown, "\x0b").find("ssh-ed25519"), std::string::npos);
        EXPECT_EQ(ask(shown,
                      "\x11"
                      "add a key"),
                  "\x05");
      });
    }
    for (std::thread& host : hosts) host.join();
    EXPECT_EQ(agent->trouble(), "");
    EXPECT_EQ(fake.connections(), 1);
    watchdog_->end_all();  // closes the connection
  }
}

TEST_F(Agents, MissingAgentHasNoKeys) {
  const auto agent = std::make_shared<AgentProxy>(path("nobody"), watchdog_);
  EXPECT_TRUE(agent->keys().empty());
  EXPECT_NE(agent->trouble().find("No such file"), std::string::npos);
}

TEST_F(Agents, SilentAgentDoesNotDelayShutdown) {
  const sys::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("mute").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 5), 0);
  const auto agent = std::make_shared<AgentProxy>(path("mute"), watchdog_);
  const auto start = Clock::now();
  std::thread ending([&] {
    std::this_thread::sleep_for(50ms);  // during the wait
    watchdog_->end_all();
  });
  EXPECT_TRUE(agent->keys().empty());
  EXPECT_LT(Clock::now() - start, 3s);
  ending.join();
}

}  // namespace
}  // namespace dlaunch::transport::ssh
