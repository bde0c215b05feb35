// What the ranks of a job that serves MPI find in their environment. Pure. docs/mpi.md is the user's side of it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The number of a rank's PMI connection: one that scripts do not take for their own files (3 to 9, and 10 to 25 in
/// shells), and that select(2) can wait for.
inline constexpr int kPmiFd = 60;

/// What a rank with a PMI-1 connection is told.
inline constexpr std::array<std::string_view, 5> kPmi1Variables = {"PMI_FD", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID",
                                                                   "MPI_LOCALNRANKS"};

/// What is served. Each host decides by itself which programs need it where it stays automatic.
Mpi chosen_mpi(const Request& request);

/// Whether the variable tells a rank of the MPI job that we were started in.
bool left_by_outer_mpi(std::string_view name);

/// Adds PMI-1's variables to a plan that is complete but for Plan::mpi. What -x chose stays as it is. PMIx's are each
/// host's own (pmix/environment.h), since they name a port there.
void add_mpi(Plan& plan, Mpi mpi);

/// The same for the programs and ranks of a spawned world. `first_app`: number of its first program; `here`: how many
/// of its ranks are on each host.
void add_spawned_mpi(std::vector<App>& apps, std::vector<Rank>& ranks, int first_app, const std::vector<int>& here);

}  // namespace dlaunch::plan
