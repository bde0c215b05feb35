#include "output/file_relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "sys/fd.h"
#include "sys/io.h"

namespace dlaunch::output {
namespace {

using namespace std::chrono_literals;

/// Descriptor 0 is the file while the test runs.
class Relay : public testing::Test {
 protected:
  Relay() { ::signal(SIGPIPE, SIG_IGN); }
  ~Relay() override { ::dup2(before_.get(), 0); }
  int start(const sys::Fd& file) {
    ::dup2(file.get(), 0);
    return relay.start(0);
  }
  FileRelay relay;

 private:
  const sys::Fd before_{::fcntl(0, F_DUPFD_CLOEXEC, 3)};
};

TEST_F(Relay, WritesAllBytesInOrder) {
  const sys::Fd file(::memfd_create("file", MFD_CLOEXEC));
  const int pipe = start(file);
  ASSERT_GE(pipe, 0);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + '\n';
  ASSERT_EQ(sys::write_all(pipe, text), true);
  EXPECT_TRUE(relay.await(text.size(), 10s));
  EXPECT_TRUE(relay.finish(text.size(), 10s));
  EXPECT_EQ(relay.error(), 0);
  std::string got(text.size() + 1, '\0');
  got.resize(static_cast<std::size_t>(::pread(file.get(), got.data(), got.size(), 0)));
  EXPECT_EQ(got, text);
}

TEST_F(Relay, ReportsTheErrorOfAWrite) {
  const int pipe = start(sys::Fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  ASSERT_EQ(::write(pipe, "x", 1), 1);
  EXPECT_TRUE(relay.await(1, 10s));
  EXPECT_EQ(relay.error(), ENOSPC);
  EXPECT_TRUE(relay.finish(1, 10s));
  EXPECT_EQ(relay.error(), ENOSPC);
}

TEST_F(Relay, ReportsAKilledProcessWithUnwrittenBytes) {
  sys::Pipe full = sys::make_pipe();  // nobody reads
  const int pipe = start(full.write);
  const std::string much(65536, 'x');  // all that the pipe takes
  ASSERT_EQ(::write(pipe, much.data(), much.size()), 65536);
  ASSERT_TRUE(relay.await(65536, 10s));
  ASSERT_EQ(::write(pipe, "y", 1), 1);
  EXPECT_FALSE(relay.await(65537, 50ms));
  ::kill(relay.pid(), SIGKILL);
  EXPECT_TRUE(relay.finish(65537, 10s));
  EXPECT_EQ(relay.error(), FileRelay::kKilled);
}

TEST_F(Relay, AKilledProcessThatWroteAllBytesIsNoError) {
  const sys::Fd file(::memfd_create("file", MFD_CLOEXEC));
  const int pipe = start(file);
  ASSERT_EQ(::write(pipe, "x", 1), 1);
  ASSERT_TRUE(relay.await(1, 10s));
  ::kill(relay.pid(), SIGKILL);
  EXPECT_TRUE(relay.finish(1, 10s));
  EXPECT_EQ(relay.error(), 0);
}

TEST_F(Relay, DoesNotWaitForAFileThatDoesNotRespond) {
  sys::Pipe full = sys::make_pipe();  // nobody reads
  const int pipe = start(full.write);
  const std::string much(65536 + 1, 'x');  // more than the pipe takes
  ASSERT_EQ(::write(pipe, much.data(), 65536), 65536);
  ASSERT_TRUE(relay.await(65536, 10s));
  ASSERT_EQ(::write(pipe, "y", 1), 1);
  EXPECT_FALSE(relay.await(65537, 50ms));
  const int pid = relay.pid();
  EXPECT_FALSE(relay.finish(65537, 50ms));
  EXPECT_EQ(::kill(pid, 0), 0);  // it goes on
  std::string got;
  char some[4096];
  while (got.size() < 65537) {
    const ssize_t size = ::read(full.read.get(), some, sizeof some);
    ASSERT_GT(size, 0);
    got.append(some, static_cast<std::size_t>(size));
  }
  EXPECT_EQ(got.back(), 'y');
}

}  // namespace
}  // namespace dlaunch::output
