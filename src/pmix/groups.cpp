#include "pmix/groups.h"

#include <algorithm>

namespace dlaunch::pmix {
namespace {

constexpr size_t kBytes = 8;
constexpr std::string_view kHex = "0123456789abcdef";

void put(std::string& text, std::uint64_t number) {
  for (size_t i = 0; i < kBytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
}

std::uint64_t get(std::string_view text) {
  std::uint64_t number = 0;
  for (size_t i = 0; i < kBytes; ++i) number |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return number;
}

}  // namespace

std::string group_mark(std::string_view name) {
  std::string mark = " #";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    mark += kHex[byte >> 4];
    mark += kHex[byte & 15];
  }
  return mark;
}

std::string write_group_part(const GroupPart& part) {
  std::string text;
  put(text, part.number);
  put(text, part.data.size());
  return text + part.data;
}

std::optional<GroupPart> join_group_parts(std::string_view parts) {
  if (parts.empty()) return std::nullopt;
  GroupPart whole;
  while (!parts.empty()) {
    if (parts.size() < 2 * kBytes) return std::nullopt;
    whole.number = std::max(whole.number, get(parts));
    const std::uint64_t size = get(parts.substr(kBytes));
    parts.remove_prefix(2 * kBytes);
    if (size > parts.size()) return std::nullopt;
    whole.data += parts.substr(0, size);
    parts.remove_prefix(size);
  }
  return whole;
}

}  // namespace dlaunch::pmix
