#include "net/this_machine.h"

#include <gmock/gmock.h>

namespace dlaunch::net {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(NameResolver, ReturnsTheAddressesOfTheSystem) {
  NameResolver names;
  names.ask("127.0.0.2");
  EXPECT_THAT(names.addresses("127.0.0.1"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(names.addresses("127.0.0.2"), ElementsAre("127.0.0.2"));
  EXPECT_THAT(names.addresses("::1"), ElementsAre("::1"));
  EXPECT_THAT(names.addresses(""), IsEmpty());
  EXPECT_EQ(names.trouble(), "");
}

TEST(NameResolver, ResolvesEachNameOnce) {
  int waits = 0;
  NameResolver names([&](const sys::Fd& answered, Time deadline) {
    ++waits;
    sys::wait_readable(answered, deadline);
  });
  EXPECT_EQ(names.addresses("127.0.0.1"), names.addresses("127.0.0.1"));
  EXPECT_LE(waits, 1);
}

}  // namespace
}  // namespace dlaunch::net
