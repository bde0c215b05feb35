#include "sys/process_state.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

namespace dlaunch::sys {
namespace {

void own(int) {}

void (*handler_of(int signal))(int) {
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

TEST(ProcessState, IsRestored) {
  std::signal(SIGTERM, own);
  std::signal(SIGPIPE, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 100;
  ::setrlimit(RLIMIT_NOFILE, &low);
  {
    const ProcessState state;
    EXPECT_EQ(handler_of(SIGPIPE), SIG_IGN);
    rlimit raised{};
    ::getrlimit(RLIMIT_NOFILE, &raised);
    EXPECT_EQ(raised.rlim_cur, before.rlim_max);
    EXPECT_EQ(state.open_files().rlim_cur, 100u);
    std::signal(SIGTERM, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  EXPECT_EQ(handler_of(SIGTERM), own);
  EXPECT_EQ(handler_of(SIGPIPE), SIG_DFL);
  int subreaper = 1;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  EXPECT_EQ(subreaper, 0);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, 100u);
  ::setrlimit(RLIMIT_NOFILE, &before);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace dlaunch::sys
