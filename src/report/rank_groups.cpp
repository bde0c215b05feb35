#include "report/rank_groups.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/shared_texts.h"
#include "base/text.h"

namespace dlaunch::report {
namespace {

void add_to_group(const job::RankRecord& record, int rank, RankGroups& groups) {
  if (!record.status) {
    auto& unstarted = record.unheard ? groups.start_unknown : groups.never_started;
    (record.pid == 0 ? unstarted : groups.unknown).insert(rank);
    if (record.pid != 0 && record.unheard) groups.unheard.insert(rank);
  } else if (record.ended_by_us) {
    groups.stopped.insert(rank);
    if (record.needed_kill) ++groups.needed_kill;
  } else if (std::holds_alternative<Lost>(record.status->value())) {
    groups.lost.insert(rank);
    if (record.needed_kill) groups.stuck.insert(rank);
  } else if (!record.status->ok()) {
    groups.failed[record.status->describe()].insert(rank);
  }
}

/// The reason of a rank that did not start, without the directory, which differs between ranks.
std::pair<int, std::string> reason_of(const NotStarted& status) {
  return {status.error, status.what.substr(0, status.what.find(" (from "))};
}

std::string hosts_of(const plan::Plan& plan, const std::set<int>& ranks) {
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(plan.ranks.at(static_cast<size_t>(rank)).host);
  std::vector<std::string> names;
  for (const int host : hosts) names.push_back(plan.hosts.at(static_cast<size_t>(host)).host.name);
  return fold_names(names);
}

}  // namespace

std::string ranks_text(const Worlds& worlds, const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + worlds.fold(ranks);
}

ExitStatus status_of(const job::RankRecord& record) {
  return record.status.value_or(ExitStatus(Lost{"its exit status is unknown"}));
}

bool is_missing_interpreter(const NotStarted& status) {
  return status.what.starts_with(kCannotExecute) && status.what.find(kMissingInterpreter) != std::string::npos;
}

std::set<int> not_started_alike(const plan::Plan& plan, const job::Outcome& outcome) {
  if (outcome.cause != job::Cause::rank_failed) return {};
  const int first = outcome.first_failure.value_or(0);
  const ExitStatus status = status_of(outcome.ranks.at(static_cast<size_t>(first)));
  const auto* cause = std::get_if<NotStarted>(&status.value());
  if (!cause) return {};
  const auto app_of = [&](int rank) { return plan.ranks.at(static_cast<size_t>(rank)).app; };
  std::set<int> alike;
  for (int rank = 0; rank < static_cast<int>(outcome.ranks.size()); ++rank) {
    const auto& other = outcome.ranks.at(static_cast<size_t>(rank)).status;
    const auto* reason = other ? std::get_if<NotStarted>(&other->value()) : nullptr;
    if (reason && app_of(rank) == app_of(first) && reason_of(*reason) == reason_of(*cause)) alike.insert(rank);
  }
  return alike;
}

RankGroups group_ranks(const job::Outcome& outcome, const std::set<int>& named) {
  RankGroups groups;
  for (size_t i = 0; i < outcome.ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    const bool is_first = rank == outcome.first_failure && outcome.cause == job::Cause::rank_failed;
    if (!is_first && !named.contains(rank)) add_to_group(outcome.ranks[i], rank, groups);
  }
  return groups;
}

std::string not_started_text(const plan::Plan& plan, const std::set<int>& alike, const NotStarted& status) {
  const plan::Rank& first = plan.ranks.at(static_cast<size_t>(*alike.begin()));
  const plan::App& app = plan.apps.at(static_cast<size_t>(first.app));
  const std::string name = app.argv.empty() ? "" : app.argv[0];
  const std::string program = "program \"" + name + "\"";
  const auto of_app = [&](const plan::Rank& rank) { return rank.app == first.app; };
  const bool all = std::ranges::count_if(plan.ranks, of_app) == static_cast<std::ptrdiff_t>(alike.size());
  const std::string whose = all ? "" : " (" + ranks_text(plan.worlds, alike) + ")";
  const std::string hosts = hosts_of(plan, alike);
  const bool about_file = status.what.starts_with(kCannotExecute) && !is_missing_interpreter(status);
  if (status.error == ENOENT && (about_file || status.what.starts_with(kProgram))) {
    return program + ": not found on " + hosts + whose;
  }
  const std::string why = status.error == 0 ? "" : std::string(": ") + std::strerror(status.error);
  const std::string file = reason_of(status).second;
  if (about_file) {
    const std::string found = file.substr(kCannotExecute.size());
    return "cannot run " + program + " on " + hosts + whose + (found == name ? "" : ": " + found) + why;
  }
  if (alike.size() == 1) return {};
  return ranks_text(plan.worlds, alike) + " (" + (hosts.find_first_of("[,") == std::string::npos ? "host " : "hosts ") +
         hosts + ") " + ExitStatus(status).describe();
}

}  // namespace dlaunch::report
