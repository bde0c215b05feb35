#include "sys/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace dlaunch::sys {
namespace {

ino_t inode(const Fd& fd) {
  struct stat info{};
  EXPECT_EQ(::fstat(fd.get(), &info), 0);
  return info.st_ino;
}

TEST(Io, CreatesDescriptorsThatCloseOnExec) {
  const Pipe pipe = make_pipe();
  const auto [a, b] = make_socketpair();
  for (const Fd* fd : {&pipe.read, &pipe.write, &a, &b}) EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Io, PassesDescriptorsWithTheBytesOfTheirMessage) {
  const auto [a, b] = make_socketpair();
  std::vector<Fd> first, second;
  std::vector<ino_t> sent;
  for (int i = 0; i < 3; ++i) {
    Pipe pipe = make_pipe();
    sent.push_back(inode(pipe.read));
    (i < 2 ? first : second).push_back(std::move(pipe.read));
  }
  EXPECT_EQ(send_some(a.get(), "plain", {}), 5);
  EXPECT_EQ(send_some(a.get(), "two", first), 3);
  EXPECT_EQ(send_some(a.get(), "one", second), 3);
  std::vector<Fd> got;
  std::vector<size_t> after;  // number of descriptors after each piece
  std::string text;
  char buffer[64];
  while (text.size() < 11) {
    const ssize_t size = receive_some(b.get(), buffer, got);
    ASSERT_GT(size, 0);
    text.append(buffer, static_cast<size_t>(size));
    after.push_back(got.size());
  }
  EXPECT_EQ(text, "plaintwoone");
  ASSERT_EQ(got.size(), 3u);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(inode(got[i]), sent[i]);
    EXPECT_NE(::fcntl(got[i].get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(after.back(), 3u);
}

TEST(Io, PassesTheMaximumOfDescriptors) {
  const auto [a, b] = make_socketpair();
  std::vector<Fd> fds;
  for (size_t i = 0; i < kMaxPassedFds; ++i) fds.emplace_back(::fcntl(a.get(), F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(send_some(a.get(), "x", fds), 1);
  std::vector<Fd> got;
  char byte = 0;
  ASSERT_EQ(receive_some(b.get(), {&byte, 1}, got), 1);
  EXPECT_EQ(got.size(), kMaxPassedFds);
}

TEST(Io, ReadsFromAPipe) {
  Pipe pipe = make_pipe();
  ASSERT_EQ(send_some(pipe.write.get(), "text", {}), 4);
  pipe.write.reset();
  std::vector<Fd> none;
  char buffer[16];
  EXPECT_EQ(receive_some(pipe.read.get(), buffer, none), 4);
  EXPECT_EQ(receive_some(pipe.read.get(), buffer, none), 0);
  EXPECT_TRUE(none.empty());
}

TEST(Io, ReportsThatItWouldBlock) {
  const auto [a, b] = make_socketpair();
  set_nonblocking(a.get());
  std::vector<Fd> none;
  char buffer[16];
  EXPECT_EQ(receive_some(a.get(), buffer, none), -1);
  EXPECT_EQ(errno, EAGAIN);
  const std::string much(1u << 16, 'x');
  ssize_t sent = 0;
  while (sent >= 0) sent = send_some(a.get(), much, {});
  EXPECT_EQ(errno, EAGAIN);
}

TEST(Io, ClosedReaderIsAnErrorWithoutASignal) {
  std::signal(SIGPIPE, SIG_DFL);
  auto [a, b] = make_socketpair();
  std::vector<Fd> fds;
  fds.emplace_back(::fcntl(a.get(), F_DUPFD_CLOEXEC, 0));
  b.reset();
  EXPECT_EQ(send_some(a.get(), "x", fds), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(Io, WritesAllToASlowPipeDespiteInterrupts) {
  struct sigaction on_alarm{};
  struct sigaction before{};
  on_alarm.sa_handler = [](int) {};  // without SA_RESTART: a write ends early, with fewer bytes or with EINTR
  ::sigaction(SIGALRM, &on_alarm, &before);
  Pipe pipe = make_pipe();
  const auto page = static_cast<int>(::sysconf(_SC_PAGESIZE));
  ASSERT_EQ(::fcntl(pipe.write.get(), F_SETPIPE_SZ, page), page);
  std::string sent(300000, ' ');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
  std::string got;
  const pthread_t writer = ::pthread_self();
  std::thread reader([&] {
    std::array<char, 1000> buffer;
    for (ssize_t size = 0; (size = ::read(pipe.read.get(), buffer.data(), buffer.size())) > 0;) {
      got.append(buffer.data(), static_cast<size_t>(size));
      if (got.size() < sent.size()) ::pthread_kill(writer, SIGALRM);
    }
  });
  EXPECT_TRUE(write_all(pipe.write.get(), sent));
  pipe.write.reset();
  reader.join();
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(got, sent);
}

TEST(Io, ReportsAFullDisk) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_TRUE(write_all(full.get(), ""));
  EXPECT_FALSE(write_all(full.get(), "text"));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace dlaunch::sys
