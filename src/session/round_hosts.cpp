#include "session/round_hosts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "plan/replacements.h"

namespace dlaunch::session {

RoundHosts::RoundHosts(plan::Plan first, launcher::Hosts& links, const job::Policy& policy, PlanWithout plan_without)
    : planned_(std::move(first)), links_(links), policy_(policy), plan_without_(std::move(plan_without)) {}

/// The connected replacements of the plan; with `or_not_yet`, also replacements that are still connecting.
std::vector<bool> RoundHosts::spares(bool or_not_yet) const {
  std::vector<bool> usable;
  for (size_t i = 0; i < planned_.replacements.size(); ++i) {
    const auto link = static_cast<int>(planned_.hosts.size() + i);
    usable.push_back(links_.is_ready(link) || (or_not_yet && !links_.is_lost(link)));
  }
  return usable;
}

int RoundHosts::spares() const { return static_cast<int>(std::ranges::count(spares(true), true)); }

std::optional<int> RoundHosts::find(const std::string& name) const {
  const auto at = std::ranges::find(planned_.hosts, name, [](const auto& each) { return each.host.name; });
  if (at == planned_.hosts.end()) return std::nullopt;
  return static_cast<int>(at - planned_.hosts.begin());
}

std::vector<job::LostHost> RoundHosts::needed(std::vector<job::LostHost> hosts) const {
  std::erase_if(hosts, [this](const job::LostHost& host) { return !find(host.name); });
  return hosts;
}

Result<std::string> RoundHosts::choose(const job::Outcome& outcome, const std::string& guilty, int round) {
  std::string moves;
  for (plan::PlannedHost& host : planned_.hosts) {  // before the start of its ranks, a host has no directories for them
    if (!outcome.started_at && host.since_round == round - 1) ++host.since_round;
  }
  std::vector<int> links(planned_.hosts.size() + planned_.replacements.size());
  std::iota(links.begin(), links.end(), 0);
  links_.keep(links);  // without the hosts that spawns had added
  std::vector<std::string> without;
  for (const job::LostHost& lost : outcome.lost_hosts) {
    const auto host = find(lost.name);
    if (!host) continue;
    if (const auto move = replace(*host, round)) {
      moves += *move;
      continue;
    }
    if (policy_.shrink && plan_without_) {
      without.push_back(lost.name);
      continue;
    }
    return fail({.where = "--spares",
                 .what = "not enough spare hosts for the ranks of " + lost.name,
                 .why = "the spare hosts have other devices",
                 .hint = "add spare hosts with the same devices",
                 .exit_code = outcome.exit_code});
  }
  if (const auto host = find(guilty)) moves += replace(*host, round).value_or("");
  if (without.empty()) return moves;
  auto shrunk = shrink(without, round);
  if (shrunk) return moves + *shrunk;
  shrunk.error().exit_code = outcome.exit_code;
  return shrunk;
}

/// Continues the job without these hosts.
Result<std::string> RoundHosts::shrink(const std::vector<std::string>& lost, int round) {
  std::vector<int> gone;
  std::vector<int> links;
  for (int link = 0; link < links_.size(); ++link) {
    const bool is_lost = link < static_cast<int>(planned_.hosts.size()) &&
                         std::ranges::find(lost, planned_.host(link).host.name) != lost.end();
    (is_lost ? gone : links).push_back(link);
  }
  auto plan = TRY(plan_without_(planned_, gone));
  for (plan::PlannedHost& host : plan.hosts) host.since_round = round;  // ranks change their hosts
  plan.replacements = std::move(planned_.replacements);
  planned_ = std::move(plan);
  links_.keep(links);
  std::string names;
  for (const std::string& name : lost) names += (names.empty() ? "" : ", ") + name;
  return message("", "the job continues without " + names + ", with " + count(planned_.ranks.size(), "rank") + " on " +
                         count(planned_.hosts.size(), "host"));
}

/// The spare host's link takes the number of the lost host's link, which is closed. Returns a line about the move;
/// nullopt: no spare host fits.
std::optional<std::string> RoundHosts::replace(int host, int round) {
  const auto first = static_cast<int>(planned_.hosts.size());
  auto spare = plan::find_replacement(planned_, host, spares(false));
  if (!spare) spare = plan::find_replacement(planned_, host, spares(true));
  if (!spare) return std::nullopt;
  const std::string lost = planned_.host(host).host.name;
  planned_ = plan::with_replacement(std::move(planned_), host, *spare, round);
  std::vector<int> links(static_cast<size_t>(links_.size()));
  std::iota(links.begin(), links.end(), 0);
  links[static_cast<size_t>(host)] = first + *spare;
  links.erase(links.begin() + first + *spare);
  links_.keep(links);
  return message("", planned_.host(host).host.name + " takes the ranks of " + lost);
}

}  // namespace dlaunch::session
