#include "stacks/frame_entries.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "stacks/call_frame.h"

namespace dlaunch::stacks {
namespace {

constexpr std::uint64_t kLongestSection = 8u << 20;
constexpr std::uint64_t kWorkOfAnEntry = 512;
constexpr std::uint64_t kShortestEntry = 16;  // bytes of an entry with a function

}  // namespace

FrameEntries::FrameEntries(const ReadMemory& read, std::uint64_t address, std::uint64_t size, Budget& budget) {
  if (size > kLongestSection || !budget.keep(size)) return;
  const std::string section = bytes_at(read, address, size);
  functions_.reserve(section.size() / kShortestEntry);  // untouched pages use no memory
  const ReadMemory nothing = [](std::uint64_t, std::span<char>) { return false; };
  const ReadMemory within = reader_over(section, address, nothing);
  for (std::uint64_t at = address; at - address < section.size();) {
    if (!budget.spend(kWorkOfAnEntry)) break;
    const auto length = value_at<std::uint32_t>(within, at);
    // an entry of more than 4 GiB starts with ~0. An entry of length 0 is the end marker of a linked file.
    if (!length || *length > section.size()) break;
    const auto function = *length == 0 ? std::nullopt : covered_by(within, at);
    if (function && !budget.keep(sizeof(Function))) break;
    if (function) functions_.push_back({function->start, function->size, at});
    at += 4 + std::uint64_t{*length};
  }
  if (budget.used_up()) functions_.clear();
  std::ranges::sort(functions_, {}, &Function::start);
}

std::optional<std::uint64_t> FrameEntries::entry_of(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(functions_, pc, {}, &Function::start);
  if (behind == functions_.begin() || pc - std::prev(behind)->start >= std::prev(behind)->size) return std::nullopt;
  return std::prev(behind)->entry;
}

}  // namespace dlaunch::stacks
