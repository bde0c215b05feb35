#include "pmix/members.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace dlaunch::pmix {
namespace {

std::string write_ranks(const std::set<std::uint32_t>& ranks) {
  if (ranks.contains(kAllRanks)) return "*";
  std::string text;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    while (++at != ranks.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text.append("-").append(std::to_string(last));
  }
  return text;
}

std::string_view cut(std::string_view& rest, char end) {
  const size_t at = rest.find(end);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == kAllRanks) return std::nullopt;
  return value;
}

bool parse_ranks(std::string_view text, Members& members) {
  members.all = text == "*";
  if (members.all) return true;
  if (text.empty()) return false;
  while (!text.empty()) {
    std::string_view run = cut(text, ',');
    const bool one = run.find('-') == std::string_view::npos;
    const auto first = number(cut(run, '-'));
    const auto last = one ? first : number(run);
    if (!first || !last || *last < *first) return false;
    if (!members.runs.empty() && members.runs.back().second >= *first) return false;
    members.runs.emplace_back(*first, *last);
  }
  return true;
}

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

std::string write_members(std::vector<ProcId> processes) {
  std::map<std::string, std::set<std::uint32_t>> ranks;
  for (ProcId& process : processes) ranks[std::move(process.space)].insert(process.rank);
  std::string text;
  for (const auto& [space, of_space] : ranks) {
    if (!text.empty()) text += ' ';
    text += space;
    text += ':';
    text += write_ranks(of_space);
  }
  return text;
}

std::optional<std::vector<Members>> parse_members(std::string_view text) {
  std::vector<Members> all;
  if (text.empty() || text.size() > kMaxMembers) return std::nullopt;
  while (!text.empty()) {
    std::string_view one = cut(text, ' ');
    if (one.starts_with('#')) continue;
    Members members;
    members.space = std::string(cut(one, ':'));
    if (members.space.empty() || !parse_ranks(one, members)) return std::nullopt;
    all.push_back(std::move(members));
  }
  if (all.empty()) return std::nullopt;
  return all;
}

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
