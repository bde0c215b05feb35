#include "machine/local.h"

#include <gmock/gmock.h>

namespace dlaunch::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<int> kEight = {0, 1, 2, 3, 4, 5, 6, 7};

std::vector<int> cuda(const char* list) { return narrow(kEight, list, false).devices; }

TEST(VisibleDevices, InTheUsersOrder) {
  EXPECT_THAT(cuda("0,2"), ElementsAre(0, 2));
  EXPECT_THAT(cuda("7,0,3"), ElementsAre(7, 0, 3));
  EXPECT_THAT(cuda(" 1, 2 "), ElementsAre(1, 2));
}

TEST(VisibleDevices, EmptyTextHidesAllDevices) {
  EXPECT_THAT(cuda(""), IsEmpty());
  EXPECT_THAT(cuda("-1"), IsEmpty());
  EXPECT_THAT(cuda("none"), IsEmpty());
}

TEST(VisibleDevices, InvalidEntriesEndTheList) {
  EXPECT_THAT(cuda("0,1,-1,2"), ElementsAre(0, 1));
  EXPECT_THAT(cuda("0,8,1"), ElementsAre(0));
  EXPECT_THAT(cuda("0,,1"), ElementsAre(0));
  EXPECT_THAT(cuda("3,x,1"), ElementsAre(3));
  EXPECT_THAT(cuda("3,3,1"), ElementsAre(3));
  EXPECT_THAT(cuda("0-3"), IsEmpty());
  EXPECT_THAT(cuda("99999999999999999999"), IsEmpty());
}

TEST(VisibleDevices, UuidsAreNumberedByPosition) {
  const VisibleDevices gpus = narrow(kEight, "GPU-8f6d0a, GPU-11,GPU-8f6d0a,GPU-3", false);
  EXPECT_THAT(gpus.devices, ElementsAre(0, 1));
  EXPECT_THAT(gpus.uuids, ElementsAre("GPU-8f6d0a", "GPU-11"));
  const VisibleDevices mig = narrow({0}, "MIG-GPU-1/1/0,MIG-2,MIG-3", false);
  EXPECT_THAT(mig.devices, ElementsAre(0, 1, 2)) << "one GPU, three slices of it";
  EXPECT_THAT(narrow(kEight, "1", false).uuids, IsEmpty());
}

TEST(VisibleDevices, AscendAllowsRanges) {
  EXPECT_THAT(narrow(kEight, "0-3", true).devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(narrow(kEight, "6,1-2", true).devices, ElementsAre(6, 1, 2));
  EXPECT_THAT(narrow(kEight, "6-9", true).devices, ElementsAre(6, 7));
  EXPECT_THAT(narrow(kEight, "3-1", true).devices, IsEmpty());
  EXPECT_THAT(narrow(kEight, "-1", true).devices, IsEmpty());
  EXPECT_THAT(narrow(kEight, "0-999999999", true).devices, IsEmpty());
  EXPECT_THAT(narrow({4, 5, 6, 7}, "5,6", true).devices, ElementsAre(5, 6));
}

}  // namespace
}  // namespace dlaunch::machine
