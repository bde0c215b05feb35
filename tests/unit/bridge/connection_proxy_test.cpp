#include "pmix/bridge/connection_proxy.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "loopback.h"
#include "pmix/environment.h"

namespace dlaunch::pmix {
namespace {

using namespace std::chrono_literals;

std::string greeting(const std::string& world) {
  const std::uint64_t follow = world.size() + 1;
  std::string said(16, '\0');
  std::memcpy(said.data() + 8, &follow, sizeof follow);
  return said + world + '\0';
}

class Proxy : public testing::Test {
 protected:
  /// Runs the loop until `happened` returns true. Returns false after a timeout.
  bool until(const std::function<bool()>& happened) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!happened() && std::chrono::steady_clock::now() < deadline) {
      io_.restart();
      io_.run_for(2ms);
    }
    return happened();
  }
  bool answers(const sys::Fd& socket) {
    return until([&] { return is_ready(socket); });
  }
  /// The connection forwarded to libpmix's port.
  sys::Fd come_through() {
    if (!answers(inner_.socket)) return {};
    return sys::Fd(::accept(inner_.socket.get(), nullptr, nullptr));
  }
  bool nobody_comes_through() {
    io_.restart();
    io_.run_for(50ms);  // time for a connection
    return !is_ready(inner_.socket);
  }

  Listener outer_, inner_;
  std::set<std::string, std::less<>> known_{"job"};
  asio::io_context io_{1};
  ConnectionProxy proxy_{io_, std::move(outer_.socket), inner_.port, "job",
                         [this](std::string_view space) { return known_.contains(space); }};
};

TEST_F(Proxy, ForwardsAKnownWorldInBothDirections) {
  const sys::Fd client = connect_to(outer_.port);
  write_all(client, greeting("job"));
  const sys::Fd server = come_through();
  ASSERT_TRUE(server && answers(server));
  EXPECT_EQ(read_some(server), greeting("job"));
  write_all(server, "welcome");
  ASSERT_TRUE(answers(client));
  EXPECT_EQ(read_some(client), "welcome");
  write_all(client, "thanks");
  ASSERT_TRUE(answers(server));
  EXPECT_EQ(read_some(server), "thanks");
}

TEST_F(Proxy, ForwardsTheEndOfEitherSide) {
  sys::Fd client = connect_to(outer_.port);
  write_all(client, greeting("job"));
  const sys::Fd server = come_through();
  ASSERT_TRUE(server && answers(server));
  read_some(server);
  client.reset();
  ASSERT_TRUE(answers(server));
  EXPECT_EQ(read_some(server), "");
}

TEST_F(Proxy, AcceptsAGreetingInPieces) {
  const sys::Fd client = connect_to(outer_.port);
  const std::string said = greeting("job");
  write_all(client, said.substr(0, 7));
  EXPECT_TRUE(nobody_comes_through());
  write_all(client, said.substr(7));
  const sys::Fd server = come_through();
  ASSERT_TRUE(server && answers(server));
  EXPECT_EQ(read_some(server), said);
}

TEST_F(Proxy, ClosesAnInvalidConnection) {
  const sys::Fd client = connect_to(outer_.port);
  write_all(client, std::string(kMostGreeting + 1, 'x'));
  ASSERT_TRUE(answers(client));
  EXPECT_EQ(read_some(client), "");
  EXPECT_TRUE(nobody_comes_through());
}

TEST_F(Proxy, ClientOfAnUnknownWorldWaits) {
  const sys::Fd early = connect_to(outer_.port);
  write_all(early, greeting("job_2"));
  EXPECT_TRUE(nobody_comes_through());
  proxy_.retry_pending();
  EXPECT_TRUE(nobody_comes_through());
  known_.insert("job_2");
  proxy_.retry_pending();
  const sys::Fd server = come_through();
  ASSERT_TRUE(server && answers(server));
  EXPECT_EQ(read_some(server), greeting("job_2"));
}

TEST_F(Proxy, ClosesTheOldestOfTooManySilentClients) {
  std::vector<sys::Fd> silent;
  silent.push_back(connect_to(outer_.port));
  ASSERT_FALSE(is_ready(silent.front()));
  for (int i = 0; i < 256; ++i) {
    silent.push_back(connect_to(outer_.port));
    io_.restart();
    io_.poll();
  }
  ASSERT_TRUE(answers(silent.front()));
  EXPECT_EQ(read_some(silent.front()), "");
  EXPECT_FALSE(is_ready(silent.back()));
  write_all(silent.back(), greeting("job"));
  EXPECT_TRUE(come_through());
}

}  // namespace
}  // namespace dlaunch::pmix
