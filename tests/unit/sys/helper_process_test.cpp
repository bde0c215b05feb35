#include "sys/helper_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

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

}  // namespace
}  // namespace dlaunch::sys
