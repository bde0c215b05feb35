#include "app/planned_job.h"

#include <algorithm>

#include "ascend/job_table.h"
#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"
#include "session/error_files.h"
#include "session/file_names.h"
#include "session/staged_files.h"

namespace dlaunch::app {
namespace {

using ranktable::HostFacts;

/// Rejects an option with a rank that the job does not have.
Result<void> check_named_ranks(const cli::Options& options, const plan::Plan& plan) {
  const int ranks = static_cast<int>(plan.ranks.size());
  const auto check = [&](const char* option, int rank) -> Result<void> {
    if (rank < ranks) return {};
    return fail({option, "unknown rank \"" + std::to_string(rank) + '"',
                 ranks == 1 ? "the job has only rank 0" : "the job has ranks 0 to " + std::to_string(ranks - 1),
                 "use ranks of the job, or start more ranks with -n"});
  };
  const auto& shown = options.output.console_ranks;
  if (shown && !shown->empty()) {
    TRY(check("--ranks", *shown->rbegin()));
  }
  const auto& shown_locally = options.output.console_local_ranks;
  const auto most = std::ranges::max_element(plan.hosts, {}, [](const auto& host) { return host.ranks.size(); });
  if (shown_locally && !shown_locally->empty() && *shown_locally->rbegin() >= static_cast<int>(most->ranks.size())) {
    return fail({"--local-ranks", "unknown local rank \"" + std::to_string(*shown_locally->rbegin()) + '"',
                 "no host has more than " + count(most->ranks.size(), "rank"),
                 "use local ranks, numbered from 0 on each host"});
  }
  if (options.show_env) {
    TRY(check("--show-env", *options.show_env));
  }
  if (options.stdin_target.kind == plan::StdinTarget::Kind::rank) return check("--stdin", options.stdin_target.rank);
  return {};
}

/// A note about each local rank of :local=LIST that no host has.
std::vector<std::string> missing_local_ranks(const cli::Options& options, const plan::Plan& plan) {
  std::vector<std::string> notes;
  if (!options.output.files) return notes;
  const auto most = std::ranges::max_element(plan.hosts, {}, [](const auto& host) { return host.ranks.size(); });
  const output::FileSettings& files = *options.output.files;
  for (const auto& [option, local] :
       {std::pair{"--stdout-file", &files.local}, std::pair{"--stderr-file", &files.local_err}}) {
    if (!*local || (*local)->empty() || *(*local)->rbegin() < static_cast<int>(most->ranks.size())) continue;
    notes.push_back(std::string(option) + ": no rank has the local rank " + std::to_string(*(*local)->rbegin()));
  }
  return notes;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<int>& order) {
  std::vector<T> ordered;
  for (const int from : order) ordered.push_back(at_index(values, from));
  return ordered;
}

/// The allocation with the plan's hosts in this order.
plan::Allocation reordered(const plan::Allocation& allocation, const plan::Plan& plan, const std::vector<int>& order) {
  std::vector<size_t> places;
  for (size_t i = 0; i < allocation.hosts.size() && places.size() < plan.hosts.size(); ++i) {
    if (allocation.hosts[i].name == plan.hosts[places.size()].host.name) places.push_back(i);
  }
  plan::Allocation changed = allocation;
  for (size_t i = 0; i < places.size(); ++i) {
    changed.hosts[places[i]] = plan.host(order[i]).host;
  }
  return changed;
}

/// Whether hosts may be reordered. Ranks or programs that the user assigned to hosts are not moved.
bool may_change_places(const cli::Options& options, const plan::Allocation& allocation) {
  return options.request.rank_places.empty() && !options.request.in_sequence && allocation.pools.empty();
}

/// Whether the new plan has the old plan's hosts in that order, with the same numbers of ranks.
bool has_moved(const plan::Plan& now, const plan::Plan& before, const std::vector<int>& order) {
  return std::ranges::equal(now.hosts, in_order(before.hosts, order), [](const auto& a, const auto& b) {
    return a.host.name == b.host.name && a.ranks.size() == b.ranks.size();
  });
}

/// The job with the hosts in HCCL's order.
Result<PlannedJob> with_places_changed(const cli::Options& options, const plan::Allocation& allocation,
                                       const std::vector<int>& order, session::HostSession& session, PlannedJob job,
                                       const std::vector<HostFacts>& facts) {
  const auto refused = [&] { return fail(ascend::wrong_server_order(job.plan, facts, order)); };
  if (!may_change_places(options, allocation)) return refused();
  job.held.release();
  auto changed = TRY(plan_job(options, reordered(allocation, job.plan, order), session.waiter()));
  if (!has_moved(changed.plan, job.plan, order)) return refused();
  changed.plan.notes.push_back(ascend::moved_note(changed.plan));
  return changed;
}

}  // namespace

Result<PlannedJob> plan_job(const cli::Options& options, const plan::Allocation& allocation,
                            const net::NameResolver::Wait& wait) {
  plan::Plan plan = TRY(plan::make_plan(options.request, allocation));
  TRY(check_named_ranks(options, plan));
  std::ranges::move(missing_local_ranks(options, plan), std::back_inserter(plan.notes));
  std::vector<std::string> doubts = TRY(ascend::doubts_about_rules(options, plan));
  std::ranges::move(doubts, std::back_inserter(plan.notes));
  PlannedJob job = TRY(session::with_rendezvous(std::move(plan), wait));
  job.plan = TRY(ascend::with_table_variables(options, std::move(job.plan)));
  TRY(session::check_error_files_serve(options.error_file, job.plan));
  job.plan = TRY(session::with_error_files(options.error_file, std::move(job.plan)));
  TRY(session::check_staged_names(options, job.plan));
  const bool in_file = options.report_pid != "-" && options.report_pid != "+";
  TRY(session::check_file_names(options, in_file ? options.report_pid : "", job.plan));
  return job;
}

Result<plan::Plan> plan_without(const cli::Options& options, const plan::Allocation& allocation,
                                const plan::Plan& before, const std::vector<int>& lost,
                                const net::NameResolver::Wait& wait) {
  const auto refuse = [&](std::string what, std::string why) {
    const bool may_spare = allocation.pools.empty();
    return fail({"--shrink", std::move(what), std::move(why), may_spare ? "add spare hosts with --spares N" : ""});
  };
  if (!may_change_places(options, allocation) || options.rank_table) {
    return refuse("cannot continue with fewer hosts", "an option sets the host of each rank");
  }
  const auto is_lost = [&](int host) { return std::ranges::find(lost, host) != lost.end(); };
  plan::Allocation left = allocation;
  left.hosts.clear();
  left.sequence.clear();
  left.notes.clear();
  for (int host = 0; host < static_cast<int>(before.hosts.size()); ++host) {
    if (!is_lost(host)) left.hosts.push_back(before.host(host).host);
  }
  if (left.hosts.empty()) return refuse("no host is left", "");
  cli::Options fewer = options;
  fewer.request.spares = 0;
  fewer.output.console_ranks.reset();  // the job may no longer have these ranks
  fewer.output.console_local_ranks.reset();
  for (size_t app = 0; app < fewer.request.apps.size(); ++app) {
    std::optional<int>& ranks = fewer.request.apps[app].ranks;
    if (!ranks) continue;
    ranks = static_cast<int>(std::ranges::count_if(before.ranks, [&](const plan::Rank& rank) {
      return static_cast<size_t>(rank.app) == app && !is_lost(rank.host);
    }));
    if (*ranks < 1) return refuse("no rank of " + before.app(static_cast<int>(app)).argv.front() + " is left", "");
  }
  return TRY(plan_job(fewer, left, wait)).plan;
}

Result<PlannedJob> with_job_table(const cli::Options& options, const plan::Allocation& allocation,
                                  session::HostSession& session, PlannedJob job) {
  if (!options.rank_table || !options.rank_table->automatic) return job;
  auto facts = TRY(ascend::ask_for_table(options, session, job.plan));
  if (!ascend::ranks_in_server_order(options, job.plan, facts)) {
    const std::vector<int> order = ascend::server_order(facts);
    job = TRY(with_places_changed(options, allocation, order, session, std::move(job), facts));
    session.hosts().keep(order);
    facts = in_order(facts, order);
  }
  job.plan.rank_table = TRY(ascend::rank_table(options, facts, job.plan));
  return job;
}

}  // namespace dlaunch::app
