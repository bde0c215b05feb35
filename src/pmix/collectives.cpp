#include "pmix/collectives.h"

#include <algorithm>

#include "base/text.h"

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
  const auto value = parse_int(text, 0, kAllRanks - 1L);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
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

namespace {

/// The approximate size in memory.
size_t size_of(const std::pair<std::uint8_t, std::string>& key,
               const std::map<int, std::vector<std::uint32_t>>& ranks) {
  constexpr size_t kOverhead = 512;
  size_t size = kOverhead + key.second.size();
  for (const auto& [host, ids] : ranks) size += kOverhead / 4 + ids.size() * sizeof(std::uint32_t);
  return size;
}

}  // namespace

void Collectives::add_world(std::string space, const std::vector<int>& host_of_rank) {
  const World world{static_cast<std::uint32_t>(host_of_rank_.size()), static_cast<std::uint32_t>(host_of_rank.size())};
  worlds_.insert_or_assign(std::move(space), world);
  host_of_rank_.insert(host_of_rank_.end(), host_of_rank.begin(), host_of_rank.end());
  ended_.resize(host_of_rank_.size());
}

std::optional<std::uint32_t> Collectives::id_of(const std::string& space, std::uint32_t rank) const {
  const auto world = worlds_.find(space);
  if (world == worlds_.end() || rank >= world->second.size) return std::nullopt;
  return world->second.first + rank;
}

bool Collectives::find_ranks(const std::string& members, Open& open) const {
  const auto parsed = parse_members(members);
  if (!parsed) return false;
  for (const Members& each : *parsed) {
    const auto world = worlds_.find(each.space);
    if (world == worlds_.end()) return false;
    auto runs = each.runs;
    if (each.all) runs = {{0u, world->second.size - 1u}};
    for (const auto& [first, last] : runs) {
      if (last >= world->second.size) return false;
      for (std::uint32_t id = world->second.first + first; id <= world->second.first + last; ++id) {
        auto& ranks = open.ranks[host_of_rank_[id]];
        if (!ended_[id]) ranks.push_back(id);
      }
    }
  }
  return true;
}

std::string Collectives::take(int host, std::uint8_t kind, const std::string& members, const std::string& data) {
  const Key key{kind, members};
  if (data.size() > kMaxPart) return "protocol error: the agent sent too much data to a fence";
  if (open_.size() >= kMostOpen) return "protocol error: the agent has too many open collectives";
  const auto [at, is_new] = open_.try_emplace(key);
  Open& open = at->second;
  if (is_new && !find_ranks(members, open)) {
    open.came = {host};
    end(key, open, PmixStatus::bad_parameter, "");
    open_.erase(at);
    return {};
  }
  if (!open.ranks.contains(host)) {
    if (is_new) open_.erase(at);
    return "protocol error: the agent joined a collective of other hosts";
  }
  if (!open.came.insert(host).second) return "protocol error: the agent joined a collective twice";
  if (is_new) hold(host, open, size_of(key, open.ranks));
  hold(host, open, data.size());
  if (held_[host] > kMostOfHost) {
    end(key, open, PmixStatus::out_of_memory,
        "the ranks of a host exceeded the limit of data for other ranks: " + std::to_string(kMostOfHost >> 20) +
            " MiB");
  } else {
    open.data += data;
    check(key, open);
  }
  if (open.came.empty()) open_.erase(at);
  return {};
}

void Collectives::hold(int host, Open& open, size_t bytes) {
  open.held[host] += bytes;
  held_[host] += bytes;
}

void Collectives::check(const Key& key, Open& open) {
  if (open.data.size() > kMostShared) {
    return end(
        key, open, PmixStatus::out_of_memory,
        "the ranks exceeded the limit of the data that they exchange: " + std::to_string(kMostShared >> 20) + " MiB");
  }
  if (open.came.size() == open.ranks.size()) return end(key, open, PmixStatus::ok, "");
  for (const auto& [host, ranks] : open.ranks) {
    if (open.came.contains(host) || !ranks.empty()) continue;
    return end(key, open, PmixStatus::unreachable, "ranks wait in MPI for ranks that have ended");
  }
}

/// Leaves the collective without hosts, which marks its end for the caller.
void Collectives::end(const Key& key, Open& open, PmixStatus status, std::string why) {
  over_.push_back({key.first, key.second, {}, status, {open.came.begin(), open.came.end()}, std::move(why)});
  if (status == PmixStatus::ok) over_.back().data = std::move(open.data);
  open.came.clear();
  for (const auto& [host, bytes] : open.held) held_[host] -= bytes;
  open.held.clear();
}

void Collectives::rank_ended(std::uint32_t id) {
  if (id >= ended_.size() || ended_[id]) return;
  ended_[id] = true;
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (const auto host = open.ranks.find(host_of_rank_[id]); host != open.ranks.end()) {
      std::erase(host->second, id);
      check(at->first, open);
    }
    at = open.came.empty() ? open_.erase(at) : std::next(at);
  }
}

std::vector<Collectives::Over> Collectives::take_over() { return std::exchange(over_, {}); }

}  // namespace dlaunch::pmix
