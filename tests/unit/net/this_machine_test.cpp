#include "net/this_machine.h"

#include <gmock/gmock.h>

namespace dlaunch::net {
namespace {

using testing::ElementsAre;

struct Machine {
  OwnNames own{.names = {"vm", "node7"}, .addresses = {"10.0.0.5", "fd00::5"}};
  std::vector<std::string> resolved;  // names passed to the resolver

  bool is(const std::string& name) {
    return is_this_machine(name, own, [this](const std::string& asked) -> std::vector<std::string> {
      resolved.push_back(asked);
      if (asked == "vm.x.org") return {"10.9.9.9", "10.0.0.5"};
      return {"10.0.0.6"};
    });
  }
};

TEST(ThisMachine, RecognizesItsNamesAndAddressesWithoutAResolver) {
  Machine machine;
  for (const char* name : {"vm", "VM", "node7", "localhost", "LocalHost", "ip6-localhost", "127.0.0.1", "127.8.9.1",
                           "::1", "10.0.0.5", "fd00::5", "fd00:0::5", "FD00::5"}) {
    EXPECT_TRUE(machine.is(name)) << name;
  }
  for (const char* name : {"vm2", "v", "10.0.0.6", "fd00::6", "localhost2", "other.org"}) {
    EXPECT_FALSE(machine.is(name)) << name;
  }
  EXPECT_THAT(machine.resolved, ElementsAre());
}

TEST(ThisMachine, RecognizesAFullNameByItsAddress) {
  Machine machine;
  EXPECT_TRUE(machine.is("vm.x.org"));
  EXPECT_FALSE(machine.is("vm.y.org"));
  EXPECT_FALSE(machine.is("vm2.x.org"));
  EXPECT_THAT(machine.resolved, ElementsAre("vm.x.org", "vm.y.org"));
}

TEST(ThisMachine, ReadsTheRealMachine) {
  const OwnNames own = own_names({"SLURMD_NODENAME=n1"});
  EXPECT_THAT(own.names, testing::Contains("n1"));
  EXPECT_GE(own.names.size(), 2U);
  EXPECT_THAT(own.addresses, testing::Contains("127.0.0.1"));
}

}  // namespace
}  // namespace dlaunch::net
