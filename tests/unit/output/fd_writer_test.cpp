#include "output/fd_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i % 23);
  return bytes;
}

std::string read_some(int fd) {
  std::string bytes(65536, '\0');
  const ssize_t n = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

TEST(FdWriter, QueuesForASlowPipeAndKeepsItsFlags) {
  Reader pipe;
  const int flags = fcntl(pipe.writer(), F_GETFL);
  FdWriter writer = FdWriter::borrowed(pipe.writer());
  const std::string bytes = pattern(3 << 20);
  writer.write(bytes);
  EXPECT_GT(writer.pending(), 0U);
  EXPECT_EQ(fcntl(pipe.writer(), F_GETFL), flags);
  std::string got = pipe.read();
  while (writer.pending() > 0) {
    pollfd writable{writer.poll_fd(), POLLOUT, 0};
    ASSERT_EQ(poll(&writable, 1, 1000), 1);
    writer.flush();
    got += pipe.read();
  }
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(fcntl(pipe.writer(), F_GETFL), flags);
}

TEST(FdWriter, SocketDoesNotBlock) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const int flags = fcntl(ends[0], F_GETFL);
  FdWriter writer = FdWriter::borrowed(ends[0]);
  const std::string bytes = pattern(2 << 20);
  writer.write(bytes);
  EXPECT_GT(writer.pending(), 0U);
  std::string got;
  for (std::string some = read_some(ends[1]); !some.empty() || writer.pending() > 0; some = read_some(ends[1])) {
    got += some;
    writer.flush();
  }
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(fcntl(ends[0], F_GETFL), flags);
  close(ends[1]);
  signal(SIGPIPE, SIG_DFL);  // MSG_NOSIGNAL: a socket needs no SIG_IGN
  writer.write("x");
  EXPECT_EQ(writer.error(), EPIPE);
  signal(SIGPIPE, SIG_IGN);
  close(ends[0]);
}

TEST(FdWriter, TerminalDoesNotBlockAndKeepsItsFlags) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  termios raw{};
  tcgetattr(terminal, &raw);
  cfmakeraw(&raw);
  tcsetattr(terminal, TCSANOW, &raw);
  fcntl(master, F_SETFL, O_NONBLOCK);
  const int flags = fcntl(terminal, F_GETFL);
  FdWriter writer = FdWriter::borrowed(terminal);
  const std::string bytes = pattern(256 * 1024);
  writer.write(bytes);
  EXPECT_GT(writer.pending(), 0U);
  std::string got;
  while (got.size() < bytes.size()) {
    std::array<char, 4096> some{};
    pollfd readable{master, POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 1000), 1);
    const ssize_t n = read(master, some.data(), some.size());
    if (n > 0) got.append(some.data(), static_cast<size_t>(n));
    writer.flush();
  }
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(fcntl(terminal, F_GETFL), flags);
  writer.close();
  close(terminal);
  close(master);
}

// Opening /dev/ptmx again would make another terminal, so it is written in small pieces after poll().
TEST(FdWriter, PollsFilesThatCannotBeReopened) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  termios raw{};
  tcgetattr(terminal, &raw);
  cfmakeraw(&raw);
  tcsetattr(terminal, TCSANOW, &raw);
  FdWriter writer = FdWriter::borrowed(master);
  EXPECT_EQ(writer.poll_fd(), master);
  writer.write("hello");
  std::array<char, 16> some{};
  ASSERT_EQ(read(terminal, some.data(), some.size()), 5);
  EXPECT_EQ(std::string(some.data(), 5), "hello");
  close(terminal);
  close(master);
}

TEST(FdWriter, AppendsToAnAppendingFile) {
  const TempDir dir;
  const std::string path = dir / "log";
  const int a = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int b = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  FdWriter writer = FdWriter::borrowed(a);
  writer.write("one ");
  ASSERT_EQ(write(b, "two ", 4), 4);
  writer.write("three");
  EXPECT_EQ(writer.pending(), 0U);
  EXPECT_EQ(content(path), "one two three");
  close(a);
  close(b);
}

TEST(FdWriter, WritesPartsInOrder) {
  Reader pipe;
  FdWriter writer = FdWriter::borrowed(pipe.writer());
  const std::array<std::string_view, 4> parts = {"a", "", "bc", "d"};
  writer.write(parts);
  EXPECT_EQ(pipe.read(), "abcd");
}

TEST(FdWriter, FullDiskIsAnError) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  FdWriter writer = FdWriter::owned(full);
  writer.write("x");
  EXPECT_EQ(writer.error(), ENOSPC);
  writer.write("y");
  EXPECT_EQ(writer.pending(), 0U);
}

TEST(FdWriter, HandlesTheExitOfAReaderWithQueuedBytes) {
  signal(SIGPIPE, SIG_IGN);
  Reader pipe;
  FdWriter writer = FdWriter::borrowed(pipe.writer());
  writer.write(pattern(2 << 20));
  EXPECT_GT(writer.pending(), 0U);
  pipe.close_reader();
  writer.flush();
  EXPECT_EQ(writer.error(), EPIPE);
  EXPECT_EQ(writer.pending(), 0U);
}

}  // namespace
}  // namespace dlaunch::output
