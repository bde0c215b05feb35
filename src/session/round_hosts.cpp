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

/// The number of planned hosts if `name` is not one of these.
int RoundHosts::find(const std::string& name) const {
  const auto at = std::ranges::find(planned_.hosts, name, [](const auto& each) { return each.host.name; });
  return static_cast<int>(at - planned_.hosts.begin());
}

bool RoundHosts::is_planned(const std::string& name) const {
  return find(name) < static_cast<int>(planned_.hosts.size());
}

std::vector<job::LostHost> RoundHosts::needed(std::vector<job::LostHost> hosts) const {
  std::erase_if(hosts, [this](const job::LostHost& host) { return !is_planned(host.name); });
  return hosts;
}

Result<std::string> RoundHosts::choose(const job::Outcome& outcome, const std::string& guilty, int round) {
  round_ = round;
  moves_.clear();
  for (plan::PlannedHost& host : planned_.hosts) {  // before the start of its ranks, a host has no directories for them
    if (!outcome.started_at && host.since_round == round - 1) ++host.since_round;
  }
  std::vector<int> links(planned_.hosts.size() + planned_.replacements.size());
  std::iota(links.begin(), links.end(), 0);
  links_.keep(links);  // without the hosts that spawns had added
  std::vector<std::string> without;
  for (const job::LostHost& lost : outcome.lost_hosts) {
    if (!is_planned(lost.name) || replace(lost.name)) continue;
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
  if (is_planned(guilty)) replace(guilty);
  if (!without.empty()) {
    auto shrunk = shrink(without);
    if (!shrunk) shrunk.error().exit_code = outcome.exit_code;
    TRY(shrunk);
  }
  return moves_;
}

/// Continues the job without these hosts.
Result<void> RoundHosts::shrink(const std::vector<std::string>& lost) {
  std::vector<int> gone;
  std::vector<int> links;
  for (int link = 0; link < links_.size(); ++link) {
    const bool is_lost = link < static_cast<int>(planned_.hosts.size()) &&
                         std::ranges::find(lost, planned_.host(link).host.name) != lost.end();
    (is_lost ? gone : links).push_back(link);
  }
  auto plan = TRY(plan_without_(planned_, gone));
  for (plan::PlannedHost& host : plan.hosts) host.since_round = round_;  // ranks change their hosts
  plan.replacements = std::move(planned_.replacements);
  planned_ = std::move(plan);
  links_.keep(links);
  std::string names;
  for (const std::string& name : lost) names += (names.empty() ? "" : ", ") + name;
  moves_ += message("", "the job continues without " + names + ", with " + count(planned_.ranks.size(), "rank") +
                            " on " + count(planned_.hosts.size(), "host"));
  return {};
}

/// The spare host's link takes the number of the lost host's link, which is closed. Returns false if no spare host
/// fits.
bool RoundHosts::replace(const std::string& name) {
  const int host = find(name);
  const auto first = static_cast<int>(planned_.hosts.size());
  auto spare = plan::find_replacement(planned_, host, spares(false));
  if (!spare) spare = plan::find_replacement(planned_, host, spares(true));
  if (!spare) return false;
  planned_ = plan::with_replacement(std::move(planned_), host, *spare, round_);
  std::vector<int> links(static_cast<size_t>(links_.size()));
  std::iota(links.begin(), links.end(), 0);
  links[static_cast<size_t>(host)] = first + *spare;
  links.erase(links.begin() + first + *spare);
  links_.keep(links);
  moves_ += message("", planned_.host(host).host.name + " takes the ranks of " + name);
  return true;
}

}  // namespace dlaunch::session
