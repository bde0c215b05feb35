#include "launcher/growth.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "launcher/frames.h"

namespace dlaunch::launcher {
namespace {

/// Takes the next `count` of `all`, of which `from` are taken. False when there are fewer.
bool take_next(const std::vector<std::string>& all, size_t& from, size_t count, std::vector<std::string>& to) {
  if (count > all.size() - from) return false;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  to.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  from += count;
  return true;
}

}  // namespace

std::optional<plan::SpawnRequest> spawn_request(const wire::SpawnAsk& ask) {
  for (const size_t size : {ask.words.size(), ask.set.size(), ask.named.size(), ask.wdirs.size()}) {
    if (size != ask.ranks.size()) return std::nullopt;
  }
  plan::SpawnRequest request{static_cast<int>(ask.rank), {}};
  size_t words = 0;
  size_t set = 0;
  size_t named = 0;
  for (size_t i = 0; i < ask.ranks.size(); ++i) {
    plan::SpawnApp& app = request.apps.emplace_back();
    app.ranks = static_cast<int>(std::min<std::uint32_t>(ask.ranks[i], std::numeric_limits<int>::max()));
    app.wdir = ask.wdirs[i];
    const bool there = take_next(ask.argv, words, ask.words[i], app.argv) &&
                       take_next(ask.env, set, ask.set[i], app.env) &&
                       take_next(ask.hosts, named, ask.named[i], app.hosts);
    if (!there) return std::nullopt;
  }
  const bool all = words == ask.argv.size() && set == ask.env.size() && named == ask.hosts.size();
  if (!all || ask.pairs.size() % 2 != 0) return std::nullopt;
  return request;
}

Result<job::RanksAdded> Growth::take(const plan::SpawnRequest& request, std::vector<std::string> pairs) {
  plan::Plan& plan = parts_.plan;
  if (!parts_.job.may_grow()) {
    return fail({.where = "spawn", .what = "the job is ending", .why = "", .hint = ""});
  }
  std::vector<int> busy = running();
  auto grown = plan::grow(plan, request, busy);
  if (!grown) return fail(grown.error());
  job::RanksAdded added;
  for (const plan::Rank& rank : grown->ranks) {
    added.host_of_rank.push_back(rank.host);
    ++busy[static_cast<size_t>(rank.host)];
  }
  if (parts_.may_hold) {
    if (auto error = parts_.may_hold(busy)) return fail(*std::move(error));
  }
  const auto facts = rank_facts(plan, *grown);
  if (auto ready = parts_.output.add(facts); !ready) return fail(ready.error());
  parts_.facts.insert(parts_.facts.end(), facts.begin(), facts.end());
  plan::adopt(plan, *std::move(grown));
  parts_.streams.grow(static_cast<int>(plan.ranks.size()));
  parts_.mpi.grow(std::move(pairs), space_name(plan, plan.worlds.place(request.asker).world));
  return added;
}

std::vector<wire::Message> Growth::frames(int host) const {
  return world_frames(parts_.plan, host, parts_.settings, parts_.facts, parts_.mpi.newest());
}

/// How many ranks each host has now.
std::vector<int> Growth::running() const {
  std::vector<int> running(parts_.plan.hosts.size());
  const auto& records = parts_.job.outcome().ranks;
  for (size_t id = 0; id < records.size(); ++id) {
    if (!records[id].status) ++running[static_cast<size_t>(parts_.plan.ranks[id].host)];
  }
  return running;
}

}  // namespace dlaunch::launcher
