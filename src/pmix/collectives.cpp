#include "pmix/collectives.h"

namespace dlaunch::pmix {
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
