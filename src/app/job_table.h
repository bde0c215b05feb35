// The rank table of a job (--rank-table): read before the plan, or made after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/host_session.h"
#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "ranktable/make.h"

namespace dlaunch::app {

/// --rank-table FILE: takes hosts and places from it. Returns remarks for the user.
Result<std::vector<std::string>> follow_table_file(cli::Options& options);

/// Marks the devices that a table names as Ascend's.
void mark_table_devices(const cli::Options& options, plan::Allocation& allocation);

/// Whether the ranks' devices follow Ascend's rules. A broken rule is refused where HCCL is certain to be used (a rank
/// table, --env-for mindspore), else noted.
Result<void> check_ascend_rules(const cli::Options& options, plan::Plan& plan);

/// Adds the table's variables to the ranks; a table that is made has no text yet.
Result<void> add_table(const cli::Options& options, plan::Plan& plan);

/// --rank-table auto: what the plan's hosts report, in their order. The session has these hosts open, or none.
Result<std::vector<ranktable::HostFacts>> ask_for_table(const cli::Options& options, HostSession& session,
                                                        const plan::Plan& plan);

/// Whether ranks follow the order in which HCCL sorts servers. Version 2.0 sorts none.
bool ranks_in_server_order(const cli::Options& options, const plan::Plan& plan,
                           const std::vector<ranktable::HostFacts>& facts);

/// The indices of the plan's hosts in the order in which HCCL sorts servers.
std::vector<int> server_order(const std::vector<ranktable::HostFacts>& facts);

Error wrong_server_order(const plan::Plan& plan, const std::vector<ranktable::HostFacts>& facts,
                         const std::vector<int>& order);

/// The note that the hosts are in HCCL's order and not in the user's.
std::string moved_note(const plan::Plan& plan);

/// Makes the table, for hosts in the right order, and adds it to the plan for every host.
Result<void> put_table(const cli::Options& options, const std::vector<ranktable::HostFacts>& facts, plan::Plan& plan);

}  // namespace dlaunch::app
