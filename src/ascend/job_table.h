// The rank table of a job (--rank-table): checks Ascend's rules, and makes the table after the plan.
// settle/rank_table.h reads a given table.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/make.h"
#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "session/host_session.h"

namespace dlaunch::ascend {

/// Checks the ranks' devices against Ascend's rules. A violation is an Error if HCCL is certain to be used (a rank
/// table, --env-for mindspore), else one of the returned notes.
Result<std::vector<std::string>> doubts_about_rules(const cli::Options& options, const plan::Plan& plan);

/// The plan with the rank table's variables in the ranks. The text of a table that dlaunch makes later is empty.
Result<plan::Plan> with_table_variables(const cli::Options& options, plan::Plan plan);

/// --rank-table auto: the facts of the plan's hosts, in the plan's order. The session has all these links, or no link.
Result<std::vector<ranktable::HostFacts>> ask_for_table(const cli::Options& options, session::HostSession& session,
                                                        const plan::Plan& plan);

/// Whether the ranks follow HCCL's order of servers. A rank table of version 2.0 requires no order: always true.
bool ranks_in_server_order(const cli::Options& options, const plan::Plan& plan,
                           const std::vector<ranktable::HostFacts>& facts);

/// The indices of the plan's hosts in HCCL's order of servers.
std::vector<int> server_order(const std::vector<ranktable::HostFacts>& facts);

Error wrong_server_order(const plan::Plan& plan, const std::vector<ranktable::HostFacts>& facts,
                         const std::vector<int>& order);

/// The note that the hosts are in HCCL's order, not in the user's order.
std::string moved_note(const plan::Plan& plan);

/// The rank table of the plan, for hosts in the right order.
Result<plan::RankTable> rank_table(const cli::Options& options, const std::vector<ranktable::HostFacts>& facts,
                                   const plan::Plan& plan);

}  // namespace dlaunch::ascend
