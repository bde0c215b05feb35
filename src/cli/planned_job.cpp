#include "cli/planned_job.h"

#include <algorithm>

#include "cli/job_table.h"
#include "cli/meeting.h"

namespace dlaunch::cli {
namespace {

using ranktable::HostFacts;

/// An option that names a rank which the job does not have would do nothing.
Result<void> check_named_ranks(const Options& options, const plan::Plan& plan) {
  const int ranks = static_cast<int>(plan.ranks.size());
  const auto check = [&](const char* option, int rank) -> Result<void> {
    if (rank < ranks) return {};
    return fail({.where = option,
                 .what = "there is no rank " + std::to_string(rank),
                 .why = ranks == 1 ? "the job has only rank 0" : "the job has ranks 0 to " + std::to_string(ranks - 1),
                 .hint = "name ranks of the job, or start more with -n"});
  };
  const auto& shown = options.output.console_ranks;
  if (shown && !shown->empty()) {
    if (auto ok = check("--ranks", *shown->rbegin()); !ok) return ok;
  }
  if (options.show_env) {
    if (auto ok = check("--show-env", *options.show_env); !ok) return ok;
  }
  if (options.stdin_target.kind == launcher::StdinTarget::Kind::rank)
    return check("--stdin", options.stdin_target.rank);
  return {};
}

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<int>& order) {
  std::vector<T> ordered;
  for (const int from : order) ordered.push_back(values[static_cast<size_t>(from)]);
  return ordered;
}

/// The plan's hosts, which stand in the allocation's order there, change places.
plan::Allocation reordered(const plan::Allocation& allocation, const plan::Plan& plan, const std::vector<int>& order) {
  std::vector<size_t> places;
  for (size_t i = 0; i < allocation.hosts.size() && places.size() < plan.hosts.size(); ++i) {
    if (allocation.hosts[i].name == plan.hosts[places.size()].host.name) places.push_back(i);
  }
  plan::Allocation changed = allocation;
  for (size_t i = 0; i < places.size(); ++i) {
    changed.hosts[places[i]] = plan.hosts[static_cast<size_t>(order[i])].host;
  }
  return changed;
}

/// Ranks, or lists of programs, that the user tied to hosts do not move.
bool may_change_places(const Options& options, const plan::Allocation& allocation) {
  return options.request.rank_places.empty() && !options.request.in_sequence && allocation.pools.empty();
}

/// Whether the new plan has the hosts of the old one in that order, with as many ranks each.
bool has_moved(const plan::Plan& now, const plan::Plan& before, const std::vector<int>& order) {
  return std::ranges::equal(now.hosts, in_order(before.hosts, order), [](const auto& a, const auto& b) {
    return a.host.name == b.host.name && a.ranks.size() == b.ranks.size();
  });
}

Result<void> change_places(const Options& options, const plan::Allocation& allocation, const std::vector<int>& order,
                           Ways& ways, PlannedJob& job, const std::vector<HostFacts>& facts) {
  const auto refused = [&] { return fail(wrong_server_order(job.plan, facts, order)); };
  if (!may_change_places(options, allocation)) return refused();
  job.held.release();
  auto changed = plan_job(options, reordered(allocation, job.plan, order), ways.waiter());
  if (!changed) return fail(changed.error());
  if (!has_moved(changed->plan, job.plan, order)) return refused();
  job = *std::move(changed);
  job.plan.notes.push_back(moved_note(job.plan));
  return {};
}

}  // namespace

Result<PlannedJob> plan_job(const Options& options, const plan::Allocation& allocation,
                            const allocate::Names::Wait& wait) {
  auto plan = plan::make_plan(options.request, allocation);
  if (!plan) return fail(plan.error());
  if (const auto ok = check_named_ranks(options, *plan); !ok) return fail(ok.error());
  if (const auto ok = check_ascend_rules(options, *plan); !ok) return fail(ok.error());
  auto held = arrange_meeting(*plan, wait);
  if (!held) return fail(held.error());
  if (const auto ok = add_table(options, *plan); !ok) return fail(ok.error());
  return PlannedJob{*std::move(plan), *std::move(held)};
}

Result<void> make_job_table(const Options& options, const plan::Allocation& allocation, Ways& ways, PlannedJob& job) {
  if (!options.rank_table || !options.rank_table->automatic) return {};
  auto facts = ask_for_table(options, ways, job.plan);
  if (!facts) return fail(facts.error());
  if (!ranks_in_server_order(options, job.plan, *facts)) {
    const std::vector<int> order = server_order(*facts);
    if (auto ok = change_places(options, allocation, order, ways, job, *facts); !ok) return ok;
    ways.hosts().keep(order);
    *facts = in_order(*facts, order);
  }
  return put_table(options, *facts, job.plan);
}

}  // namespace dlaunch::cli
