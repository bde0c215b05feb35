#include "place/manager_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A resource set of version 1 (RFC 20) whose execution has these members.
std::string r_with(const std::string& execution) {
  return R"({"version": 1, "execution": {)" + execution + R"(, "starttime": 0, "expiration": 0}})";
}

/// "name rank slots cpus devices" of each host.
std::vector<std::string> hosts(const std::string& execution) {
  std::vector<std::string> found;
  const auto entries = kFlux.hosts_in({r_with(execution), ""});
  if (!entries) return {"error: " + entries.error().why};
  for (const auto& entry : *entries) {
    std::string devices;
    if (entry.devices) devices = " devices";
    for (const int device : entry.devices.value_or(std::vector<int>())) devices += ' ' + std::to_string(device);
    found.push_back(entry.name + ' ' + entry.reach.step + ' ' + (entry.slots ? std::to_string(*entry.slots) : "-") +
                    ' ' + std::to_string(entry.cpus) + devices);
  }
  return found;
}

TEST(FluxResources, CoresAreSlotsWithoutGpus) {
  EXPECT_THAT(hosts(R"("R_lite": [{"rank": "0-1", "children": {"core": "0-7"}}], "nodelist": ["n[1-2]"])"),
              ElementsAre("n1 0 8 8", "n2 1 8 8"));
  EXPECT_THAT(hosts(R"("R_lite": [{"rank": "0", "children": {"core": "0,2-3"}}], "nodelist": ["n1"])"),
              ElementsAre("n1 0 3 3"));
}

TEST(FluxResources, GpusAreTheDevicesAndTheSlots) {
  EXPECT_THAT(hosts(R"("R_lite": [{"rank": "0", "children": {"core": "0-7", "gpu": "0-1,3"}},
                                  {"rank": "1", "children": {"core": "0-3"}}], "nodelist": ["n[1-2]"])"),
              ElementsAre("n1 0 - 8 devices 0 1 3", "n2 1 4 4"));
}

TEST(FluxResources, FollowTheOrderOfRanks) {
  EXPECT_THAT(
      hosts(R"("R_lite": [{"rank": "2", "children": {"core": "0"}}, {"rank": "0-1", "children": {"core": "0-1"}}],
                       "nodelist": ["b,a[07-08]"])"),
      ElementsAre("b 0 2 2", "a07 1 2 2", "a08 2 1 1"));
}

TEST(FluxResources, AcceptANumberAndSeveralLists) {
  EXPECT_THAT(hosts(R"("R_lite": [{"rank": 1, "children": {"core": "0"}}], "nodelist": ["a", "b"])"),
              ElementsAre("b 1 1 1"));
}

TEST(FluxResources, RejectInvalidSets) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("R_lite": [{"rank": "0"}])", "nodelist"},
      {R"("nodelist": ["a"])", "R_lite"},
      {R"("R_lite": [], "nodelist": ["a"])", "missing ranks"},
      {R"("R_lite": [{"rank": "0-1", "children": {"core": "0"}}], "nodelist": ["a"])", "missing name of rank 1"},
      {R"("R_lite": [{"rank": "x", "children": {"core": "0"}}], "nodelist": ["a"])", "rank is"},
      {R"("R_lite": [{"rank": "0", "children": {"core": ["0"]}}], "nodelist": ["a"])", "core is"},
      {R"("R_lite": [{"rank": "0", "children": {"core": "0", "gpu": "1-0"}}], "nodelist": ["a"])", "gpu is"},
  };
  for (const auto& [execution, why] : wrong) {
    EXPECT_THAT(hosts(execution), ElementsAre(HasSubstr(why))) << execution;
  }
  for (const char* text : {"", "{", "[]", R"({"execution": 1})", R"({"version": 1})"}) {
    EXPECT_FALSE(kFlux.hosts_in({text, ""})) << text;
  }
}

}  // namespace
}  // namespace dlaunch::place
