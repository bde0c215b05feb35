#include "pmix/environment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace dlaunch::pmix {
namespace {

using Is = Greeting::Is;

std::string greeting(const std::string& name, std::uint64_t follow) {
  std::string said(16, '\0');
  std::memcpy(said.data() + 8, &follow, sizeof follow);
  return said + name + '\0';
}

TEST(Greeting, IsParsedWhenComplete) {
  const std::string said = greeting("job-1_2", 8);
  for (size_t size = 0; size < said.size(); ++size) {
    EXPECT_EQ(read_greeting(std::string_view(said).substr(0, size), "job-1").is, Is::unfinished) << size;
  }
  EXPECT_EQ(read_greeting(said, "job-1").is, Is::whole);
  EXPECT_EQ(read_greeting(said, "job-1").world, "job-1_2");
}

TEST(Greeting, WaitsForTheAnnouncedBytes) {
  EXPECT_EQ(read_greeting(greeting("job-1", 1000), "job-1").is, Is::unfinished);
  EXPECT_EQ(read_greeting(greeting("job-1", ~std::uint64_t{0}), "job-1").is, Is::unfinished);
}

TEST(Greeting, OfAnotherJobIsRejectedAboveTheLimit) {
  std::string said = greeting("another", 8);
  EXPECT_EQ(read_greeting(said, "job-1").is, Is::unfinished);
  said.resize(kMostGreeting + 1, 'x');
  EXPECT_EQ(read_greeting(said, "job-1").is, Is::nonsense);
}

}  // namespace
}  // namespace dlaunch::pmix
