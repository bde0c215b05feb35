#include "base/lifetime.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

namespace dlaunch {
namespace {

TEST(Lifetime, GuardedCallbackGetsItsArguments) {
  std::string seen;
  const Lifetime lifetime;
  lifetime.guard([&](const std::string& text, int number) { seen = text + std::to_string(number); })("a", 1);
  EXPECT_EQ(seen, "a1");
}

TEST(Lifetime, GuardedCallbackDoesNothingAfterItsEnd) {
  int calls = 0;
  std::optional<Lifetime> destroyed(std::in_place);
  Lifetime ended;
  const std::function<void()> one = destroyed->guard([&] { ++calls; });
  const std::function<void()> other = ended.guard([&] { ++calls; });
  one(), other();
  EXPECT_EQ(calls, 2);
  destroyed.reset();
  ended.end();
  one(), other();
  EXPECT_EQ(calls, 2);
}

TEST(Lifetime, MovesWithItsOwner) {
  int calls = 0;
  Lifetime first;
  const std::function<void()> callback = first.guard([&] { ++calls; });
  const Lifetime second = std::move(first);
  callback();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dlaunch
