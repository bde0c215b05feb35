#include "pmi/mapping.h"

#include <algorithm>

namespace dlaunch::pmi {
namespace {

constexpr size_t kLongest = 640;  // a client reduces vallen_max to 674 if names have their maximum length

struct Block {
  int first_host = 0;
  int hosts = 0;
  int ranks = 0;  // ranks per host
  bool operator==(const Block&) const = default;
};

std::vector<Block> runs(const std::vector<int>& host_of_rank) {
  std::vector<Block> blocks;
  for (const int host : host_of_rank) {
    if (!blocks.empty() && blocks.back().first_host == host) {
      ++blocks.back().ranks;
    } else {
      blocks.push_back({host, 1, 1});
    }
  }
  return blocks;
}

/// Joins consecutive hosts with the same number of ranks into one block.
std::vector<Block> joined(const std::vector<Block>& runs) {
  std::vector<Block> blocks;
  for (const Block& run : runs) {
    if (!blocks.empty() && blocks.back().ranks == run.ranks &&
        blocks.back().first_host + blocks.back().hosts == run.first_host) {
      ++blocks.back().hosts;
    } else {
      blocks.push_back(run);
    }
  }
  return blocks;
}

/// The length of the shortest beginning that gives all blocks by repetition.
size_t period(const std::vector<Block>& blocks) {
  for (size_t length = 1; length < blocks.size(); ++length) {
    const auto shifted = blocks.begin() + static_cast<std::ptrdiff_t>(length);
    if (std::equal(shifted, blocks.end(), blocks.begin())) return length;
  }
  return blocks.size();
}

}  // namespace

std::string process_mapping(const std::vector<int>& host_of_rank) {
  const std::vector<Block> blocks = joined(runs(host_of_rank));
  std::string text = "(vector";
  const size_t shown = period(blocks);
  for (size_t i = 0; i < shown; ++i) {
    const Block& block = blocks[i];
    text += ",(" + std::to_string(block.first_host) + ',' + std::to_string(block.hosts) + ',' +
            std::to_string(block.ranks) + ')';
    if (text.size() > kLongest) return {};
  }
  return text + ')';
}

}  // namespace dlaunch::pmi
