#include "pmi/server.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

namespace dlaunch::pmi {
namespace {

/// The hosts of the first `size` ranks, parsed like in MPICH.
std::vector<int> read_mapping(const std::string& text, size_t size) {
  std::vector<std::array<int, 3>> blocks;
  for (size_t at = text.find('(', 1); at != std::string::npos; at = text.find('(', at + 1)) {
    auto& block = blocks.emplace_back();
    EXPECT_EQ(std::sscanf(text.c_str() + at, "(%d,%d,%d)", &block[0], &block[1], &block[2]), 3) << text;
  }
  std::vector<int> hosts;
  while (hosts.size() < size) {
    for (const auto& [first, count, ranks] : blocks) {
      for (int host = first; host < first + count; ++host) hosts.insert(hosts.end(), static_cast<size_t>(ranks), host);
    }
  }
  hosts.resize(size);
  return hosts;
}

TEST(Mapping, HasTheFormatOfMpich) {
  EXPECT_EQ(process_mapping({0, 0}), "(vector,(0,1,2))");
  EXPECT_EQ(process_mapping({0, 0, 1, 1}), "(vector,(0,2,2))");
  EXPECT_EQ(process_mapping({0, 0, 0, 1, 1}), "(vector,(0,1,3),(1,1,2))");
  EXPECT_EQ(process_mapping({0, 1, 0, 1}), "(vector,(0,2,1))");
  EXPECT_EQ(process_mapping({0, 2, 0, 2, 0}), "(vector,(0,1,1),(2,1,1))");
}

TEST(Mapping, RoundTripsThePlacement) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{0},
                                                                     {0, 1, 1, 0},
                                                                     {2, 0, 1},
                                                                     {0, 0, 1, 0, 0, 1, 0},
                                                                     {0, 1, 2, 2, 1, 0},
                                                                     {0, 0, 1, 1, 2, 0, 0},
                                                                     {1, 1, 0, 0, 1, 1, 0}}) {
    EXPECT_EQ(read_mapping(process_mapping(hosts), hosts.size()), hosts) << process_mapping(hosts);
  }
}

TEST(Mapping, OmitsAMappingAboveTheLimit) {
  std::vector<int> hosts;
  for (int i = 0; i < 500; ++i) hosts.push_back(i * 7919 % 499);
  EXPECT_EQ(process_mapping(hosts), "");
}

}  // namespace
}  // namespace dlaunch::pmi
