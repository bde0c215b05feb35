// What ranks find in their environment when MPI is served to them. Pure. docs/mpi.md is the user's side.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The descriptor of a rank's PMI connection: scripts do not use it for files of their own (those are 3 to 9, and 10 to
/// 25 in shells), and select(2) can wait for it.
inline constexpr int kPmiFd = 60;

/// The variables of a rank with a PMI-1 connection.
inline constexpr std::array<std::string_view, 5> kPmi1Variables = {"PMI_FD", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID",
                                                                   "MPI_LOCALNRANKS"};

/// Which MPI is served. With automatic each host decides which programs need it.
Mpi chosen_mpi(const Request& request);

/// Whether the variable belongs to a rank of the MPI job in which dlaunch was started.
bool left_by_outer_mpi(std::string_view name);

/// Adds PMI-1's variables to a plan that is complete but for Plan::mpi. What -x set stays. PMIx's variables name a port
/// of the host, so each host adds its own (pmix/environment.h).
void add_mpi(Plan& plan, Mpi mpi);

/// The same for the programs and ranks of a spawned world. `first_app` is the number of its first program, `here` says
/// how many of its ranks are on each host.
void add_spawned_mpi(std::vector<App>& apps, std::vector<Rank>& ranks, int first_app, const std::vector<int>& here);

}  // namespace dlaunch::plan
