#include "sys/inherited.h"

#include <gtest/gtest.h>

namespace dlaunch::sys {
namespace {

TEST(Limits, RaisesToTheHardLimitAndReturnsTheOldLimit) {
  rlimit original{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &original), 0);
  const rlimit low{100, original.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(open_files_limit(), 100u);
  const rlimit before = raise_open_files();
  EXPECT_EQ(before.rlim_cur, 100u);
  EXPECT_EQ(before.rlim_max, original.rlim_max);
  EXPECT_EQ(open_files_limit(), original.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &original);
}

}  // namespace
}  // namespace dlaunch::sys
