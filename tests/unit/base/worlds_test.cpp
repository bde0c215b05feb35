#include "dlaunch/worlds.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Worlds, NumbersWorldOneWithoutAPrefix) {
  const Worlds worlds;
  EXPECT_EQ(worlds.last(), 1);
  EXPECT_EQ(worlds.place(7), (Worlds::Place{1, 7}));
  EXPECT_EQ(worlds.name(7), "7");
  EXPECT_EQ(worlds.size(1, 8), 8);
  EXPECT_EQ(worlds.fold({0, 1, 2, 5}), "0-2,5");
}

TEST(Worlds, NumbersRanksOfLaterWorldsFromZero) {
  Worlds worlds;
  EXPECT_EQ(worlds.begin(4), 2);
  EXPECT_EQ(worlds.begin(6), 3);
  EXPECT_EQ(worlds.last(), 3);
  EXPECT_EQ(worlds.place(3), (Worlds::Place{1, 3}));
  EXPECT_EQ(worlds.place(4), (Worlds::Place{2, 0}));
  EXPECT_EQ(worlds.place(5), (Worlds::Place{2, 1}));
  EXPECT_EQ(worlds.place(6), (Worlds::Place{3, 0}));
  EXPECT_EQ(worlds.name(5), "2/1");
  EXPECT_EQ(worlds.size(1, 9), 4);
  EXPECT_EQ(worlds.size(2, 9), 2);
  EXPECT_EQ(worlds.size(3, 9), 3);
  EXPECT_EQ(worlds.fold({0, 1, 3, 4, 5, 6, 8}), "0-1,3,2/0-1,3/0,3/2");
}

}  // namespace
}  // namespace dlaunch
