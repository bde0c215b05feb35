#include "link/link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <optional>

#include "loop.h"
#include "sys/io.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // headers of g++ 12 do not declare this function
#endif

namespace dlaunch::link {
namespace {

constexpr std::chrono::milliseconds kBusy{0};

/// One end of a link, with all received messages and events.
struct End {
  explicit End(asio::io_context& io, sys::Fd socket) : link(std::in_place, io, std::move(socket)) {}
  void start() {
    link->start({[this](wire::Message&& message, std::deque<sys::Fd>& fds) {
                   messages.push_back(std::move(message));
                   if (on_message) on_message(messages.back(), fds);
                 },
                 [this](const std::string& text) {
                   ++ends;
                   why = text;
                   if (on_end) on_end();
                 },
                 [this] {
                   ++drains;
                   waiting_at_drain = link->waiting();
                 }});
  }

  std::optional<Link> link;
  std::vector<wire::Message> messages;
  std::function<void(wire::Message&, std::deque<sys::Fd>&)> on_message;
  std::function<void()> on_end;
  int ends = 0;
  std::string why;
  int drains = 0;
  size_t waiting_at_drain = 0;
};

class LinkTest : public testing::Test {
 protected:
  /// `other` is the far end, used by the test without a Link.
  void raw(int send_buffer = 0) {
    auto [a, b] = sys::make_socketpair();
    if (send_buffer > 0) ::setsockopt(a.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    near.emplace(loop.io(), std::move(a));
    other = std::move(b);
    near->start();
  }
  void both() {
    auto [a, b] = sys::make_socketpair();
    near.emplace(loop.io(), std::move(a));
    far.emplace(loop.io(), std::move(b));
    near->start();
    far->start();
  }
  void write(std::string_view bytes) const {
    ASSERT_EQ(::write(other.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  Loop loop;
  std::optional<End> near, far;
  sys::Fd other;
};

std::string frame(const wire::Message& message) {
  std::string bytes;
  wire::encode(message, bytes);
  return bytes;
}

wire::OutputData output(std::string bytes) { return {3, 1, 7, std::move(bytes)}; }

/// A sanitizer keeps freed memory for a while, but counts the allocated memory.
long used_mib() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return static_cast<long>(__sanitizer_get_current_allocated_bytes() >> 20);
#else
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE) >> 20;
#endif
}

TEST_F(LinkTest, CarriesMessagesInOrderInBothDirections) {
  both();
  for (std::uint32_t rank = 0; rank < 100; ++rank) {
    near->link->send(wire::StdinClosed{rank});
    far->link->send(wire::Stdin{rank, pattern(rank), rank % 2 == 0});
  }
  ASSERT_TRUE(loop.until([&] { return near->messages.size() == 100 && far->messages.size() == 100; }));
  for (std::uint32_t rank = 0; rank < 100; ++rank) {
    EXPECT_EQ(far->messages[rank], wire::Message(wire::StdinClosed{rank}));
    EXPECT_EQ(near->messages[rank], wire::Message(wire::Stdin{rank, pattern(rank), rank % 2 == 0}));
  }
}

TEST_F(LinkTest, WorksOverTwoPipes) {
  sys::Pipe there = sys::make_pipe();
  sys::Pipe back = sys::make_pipe();
  near.emplace(loop.io(), sys::Fd(::fcntl(back.read.get(), F_DUPFD_CLOEXEC, 0)));
  near->link.emplace(loop.io(), std::move(back.read), std::move(there.write));
  near->start();
  far.emplace(loop.io(), sys::Fd(::fcntl(there.read.get(), F_DUPFD_CLOEXEC, 0)));
  far->link.emplace(loop.io(), std::move(there.read), std::move(back.write));
  far->start();
  near->link->send(wire::Ping{});
  far->link->send(wire::Signal{15});
  ASSERT_TRUE(loop.until([&] { return near->messages.size() == 1 && far->messages.size() == 1; }));
  EXPECT_EQ(near->messages[0], wire::Message(wire::Signal{15}));
  near->link.reset();
  ASSERT_TRUE(loop.until([&] { return far->ends == 1; }));
}

TEST_F(LinkTest, JoinsSingleBytes) {
  raw();
  const std::string bytes = frame(output("some bytes")) + frame(wire::Ping{}) + frame(wire::Clean{{"a", "b"}});
  for (const char byte : bytes) {
    write({&byte, 1});
    loop.pass(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(loop.until([&] { return near->messages.size() == 3; }));
  EXPECT_EQ(near->messages[0], wire::Message(output("some bytes")));
  EXPECT_EQ(near->messages[2], wire::Message(wire::Clean{{"a", "b"}}));
  EXPECT_EQ(near->ends, 0);
}

TEST_F(LinkTest, SendsLargeMessagesInPiecesToASlowReader) {
  raw();
  constexpr size_t kSize = 3u << 20;
  near->link->send(wire::Stdin{1, pattern(kSize), false});
  EXPECT_GT(near->link->waiting(), 0u);
  wire::Decoder decoder;
  std::string buffer(10000, '\0');
  std::optional<wire::Message> got;
  ASSERT_TRUE(loop.until(
      [&] {
        const ssize_t size = ::recv(other.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size > 0) decoder.feed({buffer.data(), static_cast<size_t>(size)});
        got = decoder.next().value();
        return got.has_value();
      },
      kBusy));
  EXPECT_EQ(*got, wire::Message(wire::Stdin{1, pattern(kSize), false}));
  EXPECT_EQ(near->link->waiting(), 0u);
}

TEST_F(LinkTest, DescriptorsArriveInOrderAndNoLaterThanTheirFrames) {
  both();
  std::vector<std::string> read;
  far->on_message = [&](wire::Message& message, std::deque<sys::Fd>& fds) {
    const auto* started = std::get_if<wire::Started>(&message);
    for (int i = 0; started && i < started->fds; ++i) {
      ASSERT_FALSE(fds.empty());
      EXPECT_NE(::fcntl(fds.front().get(), F_GETFD) & FD_CLOEXEC, 0);
      char text[16];
      const ssize_t size = ::read(fds.front().get(), text, sizeof text);
      read.emplace_back(text, size > 0 ? static_cast<size_t>(size) : 0);
      fds.pop_front();
    }
  };
  std::vector<std::string> written;
  for (std::uint32_t rank = 0; rank < 60; ++rank) {
    std::vector<sys::Fd> fds;
    for (std::uint32_t i = 0; i < rank % 3; ++i) {
      sys::Pipe pipe = sys::make_pipe();
      written.push_back(std::to_string(rank) + "." + std::to_string(i));
      ASSERT_GT(::write(pipe.write.get(), written.back().data(), written.back().size()), 0);
      fds.push_back(std::move(pipe.read));
    }
    near->link->send(wire::Started{rank, 1, 0, static_cast<std::uint8_t>(rank % 3), {}}, std::move(fds));
    if (rank % 7 == 0) near->link->send(output(pattern(50000)));
  }
  ASSERT_TRUE(loop.until([&] { return far->messages.size() == 69; }));
  EXPECT_EQ(read, written);
}

TEST_F(LinkTest, EndsOnceWhenTheOtherSideCloses) {
  raw();
  write(frame(wire::Ping{}));
  other.reset();
  ASSERT_TRUE(loop.until([&] { return near->ends > 0; }));
  loop.pass(std::chrono::milliseconds(20));
  EXPECT_EQ(near->messages.size(), 1u);
  EXPECT_EQ(near->ends, 1);
  EXPECT_EQ(near->why, "closed by the other side");
  near->link->send(wire::Ping{});  // has no effect after the end
  loop.pass(std::chrono::milliseconds(20));
  EXPECT_EQ(near->link->waiting(), 0u);
  EXPECT_EQ(near->ends, 1);
}

TEST_F(LinkTest, InvalidBytesEndItWithAReason) {
  raw();
  write(frame(wire::Ping{}) + std::string(64, '\xff'));
  ASSERT_TRUE(loop.until([&] { return near->ends > 0; }));
  EXPECT_EQ(near->messages.size(), 1u);
  EXPECT_EQ(near->ends, 1);
  EXPECT_FALSE(near->why.empty());
  EXPECT_NE(near->why, "closed by the other side");
}

TEST_F(LinkTest, FailedWriteKeepsUnreadMessagesOfThePeer) {
  raw();
  write(frame(wire::Clean{{"last word"}}));
  other.reset();
  near->link->send(wire::Ping{});
  near->link->flush();  // EPIPE
  ASSERT_TRUE(loop.until([&] { return near->ends > 0; }));
  ASSERT_EQ(near->messages.size(), 1u);
  EXPECT_EQ(near->messages[0], wire::Message(wire::Clean{{"last word"}}));
  EXPECT_EQ(near->ends, 1);
}

TEST_F(LinkTest, FailedWriteDoesNotCallHandlersInsideSend) {
  raw();
  other.reset();
  near->link->send(wire::Stdin{0, pattern(Link::kHighWater + 1), false});  // this size is written at once
  EXPECT_EQ(near->ends, 0);
  ASSERT_TRUE(loop.until([&] { return near->ends > 0; }));
  EXPECT_EQ(near->ends, 1);
}

TEST_F(LinkTest, ReportsOnlyTheFallBelowLowWater) {
  raw(8192);  // a small buffer: the kernel accepts little at once
  near->link->send(output(pattern(1000)));
  loop.pass(std::chrono::milliseconds(10));
  EXPECT_EQ(near->drains, 0);
  for (int i = 0; i < 40; ++i) near->link->send(output(pattern(60000)));
  EXPECT_GT(near->link->waiting(), Link::kHighWater);
  std::string buffer(8192, '\0');
  ASSERT_TRUE(loop.until(
      [&] {
        [[maybe_unused]] const auto size = ::recv(other.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        return near->drains > 0;
      },
      kBusy));
  EXPECT_EQ(near->drains, 1);
  EXPECT_LT(near->waiting_at_drain, Link::kLowWater);
  EXPECT_GT(near->waiting_at_drain, 0u) << "it waited for the last byte";
}

TEST_F(LinkTest, FreesSentBytesWhileItsQueueIsNeverEmpty) {
  raw();
  const wire::OutputData piece = output(pattern(60000));
  std::string buffer(60000, '\0');
  for (int i = 0; i < 8; ++i) near->link->send(piece);
  const long before = used_mib();
  for (int i = 0; i < 2000; ++i) {  // 114 MiB
    near->link->send(piece);
    size_t left = buffer.size();
    while (left > 0) {
      const ssize_t size = ::recv(other.get(), buffer.data(), left, MSG_DONTWAIT);
      if (size <= 0) break;
      left -= static_cast<size_t>(size);
    }
    loop.io().poll();
    ASSERT_GT(near->link->waiting(), 0u);
  }
  EXPECT_LT(used_mib() - before, 32);
}

TEST_F(LinkTest, DoesNotCallHandlersAfterClose) {
  raw();
  write(frame(wire::Ping{}) + frame(wire::Ping{}));
  near->link->close();
  other.reset();
  loop.pass(std::chrono::milliseconds(30));
  EXPECT_TRUE(near->messages.empty());
  EXPECT_EQ(near->ends, 0);
}

TEST_F(LinkTest, DoesNotCallHandlersAfterItsDestruction) {
  raw();
  write(frame(wire::Ping{}));
  near->link->send(wire::Ping{});
  near->link.reset();
  loop.pass(std::chrono::milliseconds(30));
  EXPECT_TRUE(near->messages.empty());
  EXPECT_EQ(near->ends, 0);
  char byte = 0;
  EXPECT_LE(::recv(other.get(), &byte, 1, MSG_DONTWAIT), 0) << "unsent bytes went out after the destruction";
}

TEST_F(LinkTest, MayBeDestroyedInItsMessageHandler) {
  raw();
  near->on_message = [&](wire::Message&, std::deque<sys::Fd>&) { near->link.reset(); };
  write(frame(wire::Ping{}) + frame(wire::Ping{}));
  ASSERT_TRUE(loop.until([&] { return !near->link; }));
  loop.pass(std::chrono::milliseconds(20));
  EXPECT_EQ(near->messages.size(), 1u);
  EXPECT_EQ(near->ends, 0);
}

TEST_F(LinkTest, MayBeDestroyedInItsEndHandler) {
  raw();
  near->on_end = [&] { near->link.reset(); };
  other.reset();
  ASSERT_TRUE(loop.until([&] { return near->ends > 0; }));
  EXPECT_FALSE(near->link);
}

TEST_F(LinkTest, ReportsTheEndOfSendingToASlowReader) {
  raw();
  int sent = 0;
  near->link->when_sent([&] { ++sent; });
  EXPECT_EQ(sent, 1) << "nothing was waiting";
  near->link->send(wire::Stdin{1, pattern(1u << 20), true});
  near->link->when_sent([&] { sent = 10; });
  loop.pass(std::chrono::milliseconds(10));
  EXPECT_EQ(sent, 1);
  std::string buffer(1u << 16, '\0');
  ASSERT_TRUE(loop.until(
      [&] {
        [[maybe_unused]] const auto size = ::recv(other.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        return sent == 10;
      },
      kBusy));
  EXPECT_EQ(near->link->waiting(), 0u);
}

TEST_F(LinkTest, SendsFlushedMessagesBeforeItCloses) {
  raw();
  near->link->send(wire::Signal{9});
  near->link->flush();
  near->link->close();
  std::string buffer(100, '\0');
  const ssize_t size = ::recv(other.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  EXPECT_EQ(buffer.substr(0, size > 0 ? static_cast<size_t>(size) : 0), frame(wire::Signal{9}));
}

}  // namespace
}  // namespace dlaunch::link
