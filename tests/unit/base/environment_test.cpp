#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace dlaunch {
namespace {

const std::vector<std::string> kEntries = {"PATH=first", "EMPTY=", "BLANK= \t", "PATH=/a=b", "PATHS=no", "LONE"};

TEST(Environment, LastValueOfANameWins) {
  EXPECT_EQ(variable(kEntries, "PATH"), "/a=b");
  EXPECT_EQ(variable(kEntries, "EMPTY"), "");
  EXPECT_EQ(variable(kEntries, "LONE"), std::nullopt);
  EXPECT_EQ(variable(kEntries, "PAT"), std::nullopt);
  EXPECT_EQ(variable({}, "PATH"), std::nullopt);
}

TEST(Environment, TreatsABlankVariableAsUnset) {
  EXPECT_EQ(filled_variable(kEntries, "PATHS"), "no");
  EXPECT_EQ(filled_variable(kEntries, "EMPTY"), std::nullopt);
  EXPECT_EQ(filled_variable(kEntries, "BLANK"), std::nullopt);
}

TEST(Environment, OfThisProcessMatchesGetenv) {
  ASSERT_EQ(::setenv("DLAUNCH_TEST_ENVIRONMENT", "here", 1), 0);
  EXPECT_EQ(variable(own_environment(), "DLAUNCH_TEST_ENVIRONMENT"), "here");
  ASSERT_EQ(::unsetenv("DLAUNCH_TEST_ENVIRONMENT"), 0);
  EXPECT_EQ(variable(own_environment(), "DLAUNCH_TEST_ENVIRONMENT"), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
