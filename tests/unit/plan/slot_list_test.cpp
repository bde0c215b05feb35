#include "plan/slot_list.h"

#include <gmock/gmock.h>

namespace dlaunch::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Of = SlotRange::Of;

/// Two sockets with three cores of two threads, numbered as by many BIOSes: first threads first, sockets in turn.
Topology two_sockets() {
  Topology topology;
  for (int socket = 0; socket < 2; ++socket) {
    for (int core = 0; core < 3; ++core) {
      const auto first = static_cast<std::uint32_t>(2 * core + socket);
      const int id = 3 * socket + core;
      topology.pus.push_back({.os_index = first, .core = id, .socket = socket, .numa = socket});
      topology.pus.push_back({.os_index = first + 6, .core = id, .socket = socket, .numa = socket});
    }
  }
  return topology;
}

std::set<std::uint32_t> all() { return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; }

std::vector<std::uint32_t> cpus(std::string_view slots, const std::set<std::uint32_t>& allowed = all()) {
  const auto found = cpus_of_slots(two_sockets(), allowed, slots);
  EXPECT_TRUE(found) << to_text(found.error());
  return found.value_or(std::vector<std::uint32_t>{});
}

std::string refusal(std::string_view slots, const std::set<std::uint32_t>& allowed = all()) {
  const auto found = cpus_of_slots(two_sockets(), allowed, slots);
  EXPECT_FALSE(found) << slots;
  return found ? "" : found.error().what + ": " + found.error().why;
}

TEST(SlotList, HintNamesBothSourcesOfAList) {
  EXPECT_THAT(cpus_of_slots(two_sockets(), all(), "99").error().hint,
              AllOf(HasSubstr("--cpu-list"), HasSubstr("rankfile")));
}

TEST(SlotList, ReadsEachForm) {
  EXPECT_THAT(*parse_slot_list("0-2,5"), ElementsAre(SlotRange{Of::host, 0, 0, 2}, SlotRange{Of::host, 0, 5, 5}));
  EXPECT_THAT(*parse_slot_list("1:0,2"), ElementsAre(SlotRange{Of::socket, 1, 0, 0}, SlotRange{Of::socket, 1, 2, 2}));
  EXPECT_THAT(*parse_slot_list("0:1,1:0-2"),
              ElementsAre(SlotRange{Of::socket, 0, 1, 1}, SlotRange{Of::socket, 1, 0, 2}));
  EXPECT_EQ(*parse_slot_list("0:1;1:0-2"), *parse_slot_list("s0:1,S1:0-2"));
  EXPECT_THAT(*parse_slot_list("1:*"), ElementsAre(SlotRange{Of::socket, 1, 0, kAllCores}));
  EXPECT_EQ(*parse_slot_list("s1"), *parse_slot_list("1:*"));
  EXPECT_THAT(*parse_slot_list("p4-7"), ElementsAre(SlotRange{Of::threads, 0, 4, 7}));
}

TEST(SlotList, RejectsMalformedLists) {
  for (const char* text : {"",
                           "*",
                           "x",
                           "1,",
                           ",1",
                           "1-",
                           "-1",
                           "2-1",
                           "1:",
                           ":1",
                           "s",
                           "s:1",
                           "p",
                           "p1:2",
                           "1:2:3",
                           "65536",
                           "99999999999999999999",
                           "1 2",
                           "0:*-1",
                           "p*"}) {
    EXPECT_FALSE(parse_slot_list(text)) << text;
  }
  EXPECT_FALSE(parse_slot_list(std::string(4097, '0')));
}

TEST(SlotList, CoresAreCountedOverTheHostWithAllTheirThreads) {
  EXPECT_THAT(cpus("0"), ElementsAre(0, 6));
  EXPECT_THAT(cpus("2-3"), ElementsAre(1, 4, 7, 10));
}

TEST(SlotList, CoresOfASocketAreCountedInIt) {
  EXPECT_THAT(cpus("1:0"), ElementsAre(1, 7));
  EXPECT_THAT(cpus("1:1-2"), ElementsAre(3, 5, 9, 11));
  EXPECT_THAT(cpus("0:0,2"), ElementsAre(0, 4, 6, 10));
  EXPECT_THAT(cpus("0:2,1:0"), ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(cpus("s1"), ElementsAre(1, 3, 5, 7, 9, 11));
}

TEST(SlotList, ThreadsAreCountedByTheSystem) { EXPECT_THAT(cpus("p5-6"), ElementsAre(5, 6)); }

TEST(SlotList, ReportsUnknownCpus) {
  EXPECT_EQ(refusal("5-6"), "cannot bind the rank to slot=5-6: unknown core \"6\": the host has 6 cores");
  EXPECT_THAT(refusal("1:3"), HasSubstr("unknown core \"3\" of socket 1: the socket has 3 cores"));
  EXPECT_THAT(refusal("2:0"), HasSubstr("unknown socket \"2\": the host has 2 sockets"));
  EXPECT_THAT(refusal("p12"), HasSubstr("unknown CPU \"12\": the host has CPUs 0-11"));
}

TEST(SlotList, UsesAllowedCpusOnly) {
  EXPECT_THAT(cpus("0", {6, 1}), ElementsAre(6));
  EXPECT_THAT(cpus("1:*", {1, 3, 5}), ElementsAre(1, 3, 5));
  EXPECT_THAT(refusal("0-1", {0, 6}), HasSubstr("core 1 is not allowed (allowed CPUs: 0,6)"));
  EXPECT_THAT(refusal("1:*", {1, 3}), HasSubstr("core 2 of socket 1 is not allowed"));
  EXPECT_THAT(refusal("p1", {0}), AllOf(HasSubstr("CPU 1 is not allowed"), HasSubstr("allowed CPUs: 0)")));
}

}  // namespace
}  // namespace dlaunch::plan
