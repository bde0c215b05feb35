#include "ascend/tables/address.h"

#include <gtest/gtest.h>

namespace dlaunch::ranktable {
namespace {

TEST(Address, Reads) {
  for (const char* text : {"10.0.0.1", "255.255.255.255", "::1", "::", "fd00::5", "1:2:3:4:5:6:7:8", "1::8",
                           "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7::", "FD00::A"})
    EXPECT_TRUE(parse_address(text)) << text;
  for (const char* text :
       {"",          "10.0.0", "10.0.0.1.2",        "10.0.0.256",   "010.0.0.1",        "10.0.0.+1", "10.0.0.",
        " 10.0.0.1", "1:2:3",  "1:2:3:4:5:6:7:8:9", "1::2::3",      "12345::",          ":1",        "1:",
        ":",         "g::",    "1.2.3.4::",         "fe80::1%eth0", "1:2:3:4:5:6:7::8", "::+1"})
    EXPECT_FALSE(parse_address(text)) << text;
}

TEST(Address, ComparesCanonicalForms) {
  EXPECT_EQ(parse_address("fd00::0:A"), parse_address("FD00:0:0:0::a"));
  EXPECT_NE(parse_address("1.2.3.4"), parse_address("102:304::"));
  EXPECT_TRUE(parse_address("127.9.9.9")->loopback());
  EXPECT_TRUE(parse_address("::1")->loopback());
  EXPECT_FALSE(parse_address("1::1")->loopback());
  EXPECT_TRUE(parse_address("0.0.0.0")->unspecified());
  EXPECT_TRUE(parse_address("::")->unspecified());
}

}  // namespace
}  // namespace dlaunch::ranktable
