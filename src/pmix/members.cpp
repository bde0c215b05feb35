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

}  // namespace dlaunch::pmix
