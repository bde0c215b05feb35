#include "sys/randomness.h"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch::sys {
namespace {

TEST(Randomness, ReturnsTheRequestedNumberOfBytes) {
  for (const size_t count : {0u, 1u, 20u, 1000u}) EXPECT_EQ(random_bytes(count).size(), count);
}

TEST(Randomness, ReturnsEveryByteValue) {
  const std::string bytes = random_bytes(100000);  // a missing byte value: probability 10^-167
  EXPECT_EQ(std::set<char>(bytes.begin(), bytes.end()).size(), 256u);
}

TEST(Randomness, HexHasTwoDigitsPerByteAndUsesAllDigits) {
  const std::string text = random_hex(10000);
  EXPECT_EQ(text.size(), 20000u);
  EXPECT_EQ(std::set<char>(text.begin(), text.end()),
            std::set<char>({'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(Randomness, ReturnsDifferentValues) { EXPECT_NE(random_hex(16), random_hex(16)); }

}  // namespace
}  // namespace dlaunch::sys
