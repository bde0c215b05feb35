#include "mpi/spawner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/index_cast.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "launcher/open_files.h"
#include "wire/mpi.h"

namespace dlaunch::mpi {

std::optional<plan::SpawnRequest> spawn_request(const wire::SpawnAsk& ask) {
  auto programs = wire::programs(ask);
  if (!programs || ask.pairs.size() % 2 != 0) return std::nullopt;
  plan::SpawnRequest request{static_cast<int>(ask.rank), {}};
  for (SpawnProgram& program : *programs) {
    const auto ranks = std::min<std::uint32_t>(program.ranks, std::numeric_limits<int>::max());
    request.apps.push_back({std::move(program.argv), static_cast<int>(ranks), std::move(program.wdir),
                            std::move(program.env), std::move(program.hosts)});
  }
  return request;
}

Result<plan::SpawnPlan> Spawner::planned(const plan::SpawnRequest& request) const {
  if (!context_.job.may_grow()) {
    return fail({.where = "spawn", .what = "the job is ending", .why = "", .hint = ""});
  }
  std::vector<int> busy = running();
  auto spawned = plan::plan_spawn(context_.plan, request, busy);
  if (!spawned) return spawned;
  busy.resize(plan::host_count(context_.plan));
  for (const plan::Rank& rank : spawned->ranks) ++at_index(busy, rank.host);
  TRY(launcher::check_open_files(context_.plan, busy, context_.options));
  return spawned;
}

Result<job::RanksAdded> Spawner::take(plan::SpawnPlan spawned, int asker, std::vector<std::string> pairs) {
  const plan::Plan& plan = context_.plan;
  job::RanksAdded added;
  for (const plan::Rank& rank : spawned.ranks) added.host_of_rank.push_back(rank.host);
  const auto facts = launcher::rank_facts(plan, spawned);
  TRY(context_.output.add(facts));
  context_.facts.insert(context_.facts.end(), facts.begin(), facts.end());
  context_.round_plan.add(std::move(spawned));
  mpi_.add_world(std::move(pairs), space_name(plan, plan.worlds.place(asker).world));
  return added;
}

/// The number of running ranks on each host.
std::vector<int> Spawner::running() const {
  std::vector<int> running(context_.plan.hosts.size());
  const auto& records = context_.job.outcome().ranks;
  for (size_t id = 0; id < records.size(); ++id) {
    if (!records[id].status) ++running[static_cast<size_t>(context_.plan.ranks[id].host)];
  }
  return running;
}

bool SpareHosts::wait_for_hosts(const plan::SpawnPlan& spawned, int host, wire::SpawnAsk& ask) {
  std::set<int> lacks;
  for (const plan::Rank& rank : spawned.ranks) {
    if (connecting_.contains(rank.host)) lacks.insert(rank.host);
  }
  const auto known = static_cast<int>(context_.plan.hosts.size());
  context_.round_plan.add_hosts(spawned.spare);
  std::vector<plan::Host> to_open;
  for (int met = known; met < static_cast<int>(context_.plan.hosts.size()); ++met) {
    to_open.push_back(context_.plan.host(met).host);
    context_.happened(job::HostAdded{to_open.back().name});
    connecting_.insert(met);
    lacks.insert(met);
  }
  if (lacks.empty()) return false;
  waiting_.push_back({host, std::move(ask), std::move(lacks)});
  context_.hosts.open(to_open);  // last, because open() may report a lost host at once
  return true;
}

std::vector<SpareHosts::Waiting> SpareHosts::ready(int host) {
  if (connecting_.erase(host) == 0) return {};
  return take([&](Waiting& each) { return each.lacks.erase(host) > 0 && each.lacks.empty(); });
}

std::vector<SpareHosts::Waiting> SpareHosts::lost(int host) {
  context_.round_plan.give_up(host);
  if (connecting_.erase(host) == 0) return {};
  return take([&](const Waiting& each) { return each.lacks.contains(host); });
}

std::vector<SpareHosts::Waiting> SpareHosts::take(const std::function<bool(Waiting&)>& wanted) {
  std::vector<Waiting> taken;
  std::vector<Waiting> rest;
  for (Waiting& each : waiting_) {
    auto& to = wanted(each) ? taken : rest;
    to.push_back(std::move(each));
  }
  waiting_ = std::move(rest);
  return taken;
}

}  // namespace dlaunch::mpi
