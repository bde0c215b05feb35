#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(IpAddress, ParsesVersion6) {
  for (const char* text : {"::", "::1", "fd00::5", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1", "fe80::1%eth0"}) {
    EXPECT_TRUE(is_ipv6(text)) << text;
  }
  for (const char* text : {"", ":", ":::", "10.0.0.1", "node1", "a:b", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
                           "fd00::12345", "fd00::1::2", "fd00::x", "::1%", "::1%a b", "[::1]", "::256.0.0.1"}) {
    EXPECT_FALSE(is_ipv6(text)) << text;
  }
}

}  // namespace
}  // namespace dlaunch
