#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Endpoints, ParseAllForms) {
  EXPECT_EQ(parse_endpoint("node1:29500").value(), (Endpoint{"node1", 29500}));
  EXPECT_EQ(parse_endpoint("node1").value(), (Endpoint{"node1", Endpoint::kUsualPort}));
  EXPECT_EQ(parse_endpoint("10.0.0.1:1").value(), (Endpoint{"10.0.0.1", 1}));
  EXPECT_EQ(parse_endpoint("fd00::1").value(), (Endpoint{"fd00::1", Endpoint::kUsualPort}));
  EXPECT_EQ(parse_endpoint("[fd00::1]:7").value(), (Endpoint{"fd00::1", 7}));
  EXPECT_EQ(parse_endpoint("fe80::1%eth0").value(), (Endpoint{"fe80::1%eth0", Endpoint::kUsualPort}));
  EXPECT_EQ(to_string(Endpoint{"fd00::1", 7}), "[fd00::1]:7");
  EXPECT_EQ(to_string(Endpoint{"node1", 7}), "node1:7");
}

TEST(Endpoints, RejectInvalidText) {
  for (const char* text :
       {"",      ":1",   "a:",    "a:0",        "a:65536", "a:x",    "[::1",          "[::1]7",
        "a b:1", "[]:1", "a:b:x", "http://a:1", "::1]:7",  "a:1:b]", "fd00::1:29400", "node1:29400:1",
        "a:1:2", "-x",   "-x:1",  "[node1]:1:2"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

}  // namespace
}  // namespace dlaunch
