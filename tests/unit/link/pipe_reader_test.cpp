#include "link/pipe_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <optional>

#include "loop.h"
#include "sys/io.h"

namespace dlaunch::link {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr size_t kPlenty = 1u << 30;

class PipeReaderTest : public testing::Test {
 protected:
  void open() {
    sys::Pipe pipe = sys::make_pipe();
    write_end = std::move(pipe.write);
    read_from(std::move(pipe.read));
  }
  void read_from(sys::Fd fd) {
    PipeReader::Consumer consumer;
    consumer.allowance = [this] { return allowed; };
    consumer.data = [this](std::string_view piece) {
      EXPECT_LE(piece.size(), allowed);
      EXPECT_EQ(closes, 0);
      got += piece;
      if (limited) allowed -= piece.size();
      if (on_data) on_data();
    };
    consumer.closed = [this] {
      ++closes;
      closed_at = Clock::now();
      if (on_closed) on_closed();
    };
    reader.emplace(loop.io(), std::move(fd), scratch, std::move(consumer));
  }
  void write(std::string_view bytes) const {
    ASSERT_EQ(::write(write_end.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void allow(size_t bytes) {
    limited = true;
    allowed = bytes;
    reader->resume();
  }

  Loop loop;
  std::vector<char> scratch = std::vector<char>(1u << 20);
  size_t allowed = kPlenty;
  bool limited = false;  // read bytes reduce `allowed`
  std::function<void()> on_data, on_closed;
  std::string got;
  int closes = 0;
  Clock::time_point closed_at;
  sys::Fd write_end;
  std::optional<PipeReader> reader;
};

TEST_F(PipeReaderTest, ReportsTheEndOfFileOnce) {
  open();
  write("hello ");
  write("world");
  write_end.reset();
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  reader->rank_ended();
  reader->resume();
  loop.pass(kDrainIdle + 50ms);
  EXPECT_EQ(got, "hello world");
  EXPECT_EQ(closes, 1);
}

TEST_F(PipeReaderTest, ReadsAtMostTheAllowance) {
  limited = true;
  allowed = 0;
  open();
  write(pattern(5000));
  loop.pass(20ms);
  EXPECT_EQ(got.size(), 0u);
  allow(1);
  loop.pass(20ms);
  EXPECT_EQ(got.size(), 1u);
  allow(2999);
  loop.pass(20ms);
  EXPECT_LE(got.size(), 3000u);
  EXPECT_GT(got.size(), 3000u - 1000u) << "except for an incomplete line";
  int unread = 0;
  ::ioctl(write_end.get(), FIONREAD, &unread);
  EXPECT_EQ(unread, 2000);
  allow(kPlenty);
  write_end.reset();
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, pattern(5000));
}

TEST_F(PipeReaderTest, DoesNotCutACompleteLine) {
  const std::string line = std::string(99, 'x') + '\n';
  std::string all;
  for (int i = 0; i < 400; ++i) all += line;
  limited = true;
  allowed = 8192;
  open();
  write(all);
  ASSERT_TRUE(loop.until([&] { return !got.empty(); }));
  EXPECT_EQ(got.size(), 8100u);
  EXPECT_EQ(allowed, 92u);
  loop.pass(kDrainIdle);
  EXPECT_EQ(got.size(), 8100u);
  allow(4096);
  loop.pass(20ms);
  EXPECT_EQ(got.size(), 12100u);
  allow(kPlenty);
  ASSERT_TRUE(loop.until([&] { return got.size() == all.size(); }));
  write("part");
  ASSERT_TRUE(loop.until([&] { return got.size() == all.size() + 4; })) << "the reader gets all bytes";
  write_end.reset();
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, all + "part");
}

TEST_F(PipeReaderTest, CutsALineLongerThanTheAllowance) {
  const std::string all = "short\n" + std::string(20000, 'y') + '\n';
  limited = true;
  allowed = 8192;
  open();
  write(all);
  ASSERT_TRUE(loop.until([&] { return !got.empty(); }));
  EXPECT_EQ(got.size(), 8192u);
  write_end.reset();
  allow(kPlenty);
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, all);
}

TEST_F(PipeReaderTest, EndOfFileWaitsForTheAllowance) {
  limited = true;
  allowed = 3;
  open();
  write("abcd");
  write_end.reset();
  reader->rank_ended();
  loop.pass(2 * kDrainIdle + 50ms);
  EXPECT_EQ(got, "abc");
  EXPECT_EQ(closes, 0);
  allow(10);
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, "abcd");
}

TEST_F(PipeReaderTest, ClosesAnIdlePipeThatAGrandchildKeeps) {
  open();
  write("before");
  const auto ended_at = Clock::now();
  reader->rank_ended();
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, "before");
  EXPECT_GE(closed_at - ended_at, kDrainIdle);
  EXPECT_LT(closed_at - ended_at, kDrainIdle + 2s);
}

TEST_F(PipeReaderTest, ClosesABusyPipeThatAGrandchildKeepsAfterALimit) {
  open();
  sys::set_nonblocking(write_end.get());
  write("the rank's own");
  const auto start = Clock::now();
  reader->rank_ended();
  on_data = [this] { [[maybe_unused]] const ssize_t wrote = ::write(write_end.get(), "more", 4); };
  loop.until([this] { return closes == 1; });
  EXPECT_EQ(closes, 1);
  EXPECT_GE(Clock::now() - start, kDrainLongest);
  EXPECT_EQ(got.substr(0, 18), "the rank's ownmore");
}

TEST_F(PipeReaderTest, ReadsAllBytesOfTheRankWhileAGrandchildKeepsThePipe) {
  open();
  allow(0);
  write(std::string(60000, 'r'));
  reader->rank_ended();
  loop.pass(kDrainLongest + 200ms);
  EXPECT_EQ(closes, 0);
  on_data = [this] { write("g"); };
  limited = false;
  allowed = kPlenty;
  reader->resume();
  loop.until([this] { return closes == 1; });
  EXPECT_EQ(got, std::string(60000, 'r'));
}

TEST_F(PipeReaderTest, IsIdleOnlyAfterTheLastData) {
  open();
  reader->rank_ended();
  auto last = Clock::now();
  for (int i = 0; i < 4; ++i) {
    loop.pass(kDrainIdle * 3 / 5);
    ASSERT_EQ(closes, 0);
    last = Clock::now();
    write("x");
  }
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, "xxxx");
  EXPECT_GE(closed_at - last, kDrainIdle);
}

TEST_F(PipeReaderTest, SlowConsumerGetsAllBytesOfAnEndedRank) {
  limited = true;
  allowed = 0;
  open();
  const std::string bytes = pattern(30000);
  write(bytes);
  reader->rank_ended();
  loop.pass(kDrainIdle * 2);
  EXPECT_EQ(closes, 0);
  for (int i = 0; i < 3; ++i) {
    allow(10000);
    loop.pass(kDrainIdle * 6 / 5);
  }
  EXPECT_EQ(closes, 0) << "nothing was allowed: it could not know that the pipe is empty";
  allow(kPlenty);
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, bytes);
}

TEST_F(PipeReaderTest, ReadsAllBytesOfABusyWriter) {
  open();
  const std::string bytes = pattern(8u << 20);
  sys::set_nonblocking(write_end.get());
  size_t sent = 0;
  ASSERT_TRUE(loop.until(
      [&] {
        const ssize_t wrote = ::write(write_end.get(), bytes.data() + sent, bytes.size() - sent);
        if (wrote > 0) sent += static_cast<size_t>(wrote);
        if (sent == bytes.size()) write_end.reset();
        return closes > 0;
      },
      0ms));
  EXPECT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(got == bytes);
}

TEST_F(PipeReaderTest, YieldsAfterAQuarterOfAMegabyte) {
  open();
  const std::string full = pattern(1u << 20);
  ASSERT_GE(::fcntl(write_end.get(), F_SETPIPE_SZ, static_cast<int>(full.size())), 0);
  write(full);
  while (got.empty()) loop.io().run_one();
  EXPECT_LE(got.size(), 256u << 10);
  ASSERT_TRUE(loop.until([&] { return got.size() == full.size(); }));
  EXPECT_EQ(got, full);
}

TEST_F(PipeReaderTest, TerminalEndsWithItsLastUser) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  termios settings{};
  ::tcgetattr(slave, &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(slave, TCSANOW, &settings);
  write_end.reset(slave);
  read_from(sys::Fd(master));
  write("from a terminal\n");
  ASSERT_TRUE(loop.until([&] { return !got.empty(); }));
  EXPECT_EQ(closes, 0);
  write("last");
  write_end.reset();
  ASSERT_TRUE(loop.until([&] { return closes > 0; }));
  EXPECT_EQ(got, "from a terminal\nlast");
}

TEST_F(PipeReaderTest, MayBeDestroyedInItsHandlers) {
  open();
  on_data = [&] { reader.reset(); };
  write("x");
  ASSERT_TRUE(loop.until([&] { return !reader; }));
  loop.pass(20ms);
  EXPECT_EQ(closes, 0);

  on_data = {};
  on_closed = [&] { reader.reset(); };
  open();
  write_end.reset();
  ASSERT_TRUE(loop.until([&] { return !reader; }));
  EXPECT_EQ(closes, 1);
}

TEST_F(PipeReaderTest, DoesNotCallHandlersAfterItsDestruction) {
  open();
  write("x");
  reader->rank_ended();
  reader.reset();
  loop.pass(kDrainIdle + 50ms);
  EXPECT_EQ(got, "");
  EXPECT_EQ(closes, 0);
}

}  // namespace
}  // namespace dlaunch::link
