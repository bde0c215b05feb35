#include "transport/ssh/identity.h"

#include <gtest/gtest.h>

namespace dlaunch::transport::ssh {
namespace {

TEST(Packed, RoundTrips) {
  const std::string bytes = packed("ab") + packed_number(7) + packed("");
  std::string_view rest = bytes;
  EXPECT_EQ(unpack(rest), "ab");
  EXPECT_EQ(unpack_number(rest), 7u);
  EXPECT_EQ(unpack(rest), "");
  EXPECT_FALSE(unpack(rest));
  EXPECT_FALSE(unpack_number(rest));
}

TEST(Packed, RejectsLengthBeyondBuffer) {
  const std::string bytes(
      "\xff\xff\xff\xff"
      "abc",
      7);
  std::string_view rest = bytes;
  EXPECT_FALSE(unpack(rest));
  EXPECT_EQ(rest.size(), 7u);
}

}  // namespace
}  // namespace dlaunch::transport::ssh
