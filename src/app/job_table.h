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

/// --rank-table FILE: hosts and places come from it. Remarks for the user.
Result<std::vector<std::string>> follow_table_file(cli::Options& options);

/// Devices that a table names are Ascend's.
void mark_table_devices(const cli::Options& options, plan::Allocation& allocation);

/// Whether the ranks' devices go together as Ascend's must. What breaks a rule is refused where HCCL will be used for
/// sure (a rank table, --env-for mindspore), else noted.
Result<void> check_ascend_rules(const cli::Options& options, plan::Plan& plan);

/// What ranks find of it in their environment; a table that is made has no text yet.
Result<void> add_table(const cli::Options& options, plan::Plan& plan);

/// --rank-table auto: what the plan's hosts say of themselves, in their order. `ways` has them, or none yet.
Result<std::vector<ranktable::HostFacts>> ask_for_table(const cli::Options& options, HostSession& session,
                                                        const plan::Plan& plan);

/// Whether ranks follow the order in which HCCL sorts servers. Version 2.0 names none.
bool ranks_in_server_order(const cli::Options& options, const plan::Plan& plan,
                           const std::vector<ranktable::HostFacts>& facts);

/// The hosts as HCCL sorts servers: an index of the plan's each.
std::vector<int> server_order(const std::vector<ranktable::HostFacts>& facts);

Error wrong_server_order(const plan::Plan& plan, const std::vector<ranktable::HostFacts>& facts,
                         const std::vector<int>& order);

/// That the hosts stand in that order now, and not in the user's.
std::string moved_note(const plan::Plan& plan);

/// Makes the table of hosts that stand in the right order, and has it put on every host.
Result<void> put_table(const cli::Options& options, const std::vector<ranktable::HostFacts>& facts, plan::Plan& plan);

}  // namespace dlaunch::app
