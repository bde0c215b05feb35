#include "launcher/spare_hosts.h"

#include <utility>

namespace dlaunch::launcher {

bool SpareHosts::wait_for_hosts(const plan::SpawnPlan& spawned, int host, wire::SpawnAsk& ask) {
  std::set<int> lacks;
  for (const plan::Rank& rank : spawned.ranks) {
    if (connecting_.contains(rank.host)) lacks.insert(rank.host);
  }
  const auto known = static_cast<int>(plan_.hosts.size());
  plan::add_hosts(plan_, spawned.spare);
  std::vector<plan::Host> to_open;
  for (int met = known; met < static_cast<int>(plan_.hosts.size()); ++met) {
    to_open.push_back(plan_.host(met).host);
    happened_(job::HostAdded{to_open.back().name});
    connecting_.insert(met);
    lacks.insert(met);
  }
  if (lacks.empty()) return false;
  waiting_.push_back({host, std::move(ask), std::move(lacks)});
  hosts_.open(to_open);  // last, because open() may report a lost host at once
  return true;
}

std::vector<SpareHosts::Waiting> SpareHosts::ready(int host) {
  if (connecting_.erase(host) == 0) return {};
  return take([&](Waiting& each) { return each.lacks.erase(host) > 0 && each.lacks.empty(); });
}

std::vector<SpareHosts::Waiting> SpareHosts::lost(int host) {
  plan_.host(host).unreachable = true;
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

}  // namespace dlaunch::launcher
