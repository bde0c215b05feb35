#include "plan/rank_table.h"

#include <algorithm>
#include <string>

#include "plan/environment.h"

namespace dlaunch::plan {
namespace {

void add(Rank& rank, const App& app, std::string_view name, const std::string& value) {
  set_variable(rank.env, app.chosen, std::string(name).append("=").append(value));
}

}  // namespace

Result<Plan> with_rank_table(Plan plan, RankTable table) {
  for (Rank& rank : plan.ranks) {
    const App& app = plan.app_of(rank);
    const PlannedHost& planned = plan.host_of(rank);
    add(rank, app, "DEVICE_NUM", std::to_string(planned.ranks.size()));
    if (planned.host.local && !table.path.empty()) add(rank, app, kRankTableVariable, table.path);
  }
  plan.rank_table = std::move(table);
  if (auto error = refuse_own_names(plan)) return fail(*std::move(error));
  return plan;
}

}  // namespace dlaunch::plan
