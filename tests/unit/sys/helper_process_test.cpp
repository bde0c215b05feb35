#include "sys/helper_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

#include "sys/io.h"

namespace dlaunch::sys {
namespace {

void await_bytes_or_end(const HelperProcess& helper) {
  pollfd readable{helper.out().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
}

TEST(HelperProcess, ReceiveReturnsTrueOnlyAfterTheLastByte) {
  auto helper = HelperProcess::start([](HelperProcess::Ends ends) {
    write_all(ends.out, "first");
    char next = 0;
    (void)!::read(ends.in, &next, 1);
    write_all(ends.out, " last");
  });
  ASSERT_TRUE(helper);
  std::string got;
  await_bytes_or_end(*helper);
  EXPECT_FALSE(helper->receive(got));
  EXPECT_EQ(got, "first");
  EXPECT_FALSE(helper->receive(got)) << "no byte has arrived";
  ASSERT_TRUE(write_all(helper->in().get(), "+"));
  while (!helper->receive(got)) await_bytes_or_end(*helper);
  EXPECT_EQ(got, "first last");
}

TEST(HelperProcess, KeepsOnlyTheGivenDescriptors) {
  const Pipe kept = make_pipe();
  const Pipe other = make_pipe();
  const auto helper = HelperProcess::start(
      [&](HelperProcess::Ends ends) {
        write_all(kept.write.get(), "kept");
        if (::fcntl(other.write.get(), F_GETFD) < 0) write_all(ends.out, "closed");
      },
      HelperProcess::Inherited::closed, {kept.write.get()});
  ASSERT_TRUE(helper);
  EXPECT_EQ(helper->read_all(std::chrono::seconds(10)), "closed");
  char text[8];
  EXPECT_EQ(::read(kept.read.get(), text, sizeof text), 4);
}

TEST(HelperProcess, IgnoresTheSignalsOfItsParent) {
  static volatile sig_atomic_t handled = 0;
  const auto before = ::signal(SIGUSR1, [](int) { handled = 1; });
  auto helper = HelperProcess::start([](HelperProcess::Ends ends) {
    for (const int signal : {SIGUSR1, SIGTERM}) ::kill(::getpid(), signal);
    write_all(ends.out, handled == 0 ? "ignored" : "handled");
  });
  ::signal(SIGUSR1, before);
  ASSERT_TRUE(helper);
  EXPECT_EQ(helper->read_all(std::chrono::seconds(10)), "ignored");
  EXPECT_TRUE(helper->wait(std::chrono::seconds(10)));
}

TEST(HelperProcess, GoesOnAfterAStop) {
  const Pipe result = make_pipe();
  auto helper = HelperProcess::start(
      [&](HelperProcess::Ends ends) {
        char none = 0;
        (void)!::read(ends.in, &none, 1);
        write_all(result.write.get(), "end");
      },
      HelperProcess::Inherited::closed, {result.write.get()});
  ASSERT_TRUE(helper);
  ASSERT_EQ(::kill(helper->pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(helper->pid(), &status, WUNTRACED), helper->pid());
  helper->leave();
  helper.reset();
  pollfd ended{result.read.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
}

/// The result of `test` in a child that cannot open a pidfd, as on Linux before 5.3.
bool holds_without_pidfd(const std::function<bool()>& test) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(filter), filter};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(2);
    ::_exit(test() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(HelperProcess, WorksWithoutAPidfd) {
  EXPECT_TRUE(holds_without_pidfd([] {
    auto helper = HelperProcess::start([](HelperProcess::Ends ends) { write_all(ends.out, "done"); });
    return helper && helper->read_all(std::chrono::seconds(10)) == "done" && helper->wait(std::chrono::seconds(10));
  }));
  EXPECT_TRUE(holds_without_pidfd([] {
    auto helper = HelperProcess::start([](HelperProcess::Ends) { ::pause(); });
    if (!helper || helper->wait(std::chrono::milliseconds(1))) return false;
    helper->kill();
    return helper->wait(std::chrono::seconds(10));
  }));
}

}  // namespace
}  // namespace dlaunch::sys
