// Sets the environment of ranks with MPI. Pure. docs/mpi.md is the page for users.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The descriptor of a rank's PMI connection. Scripts do not use this number (they use 3 to 9, shells use 10 to 25),
/// and select(2) supports it.
inline constexpr int kPmiFd = 60;

/// The variables of a rank with a PMI-1 connection.
inline constexpr std::array<std::string_view, 5> kPmi1Variables = {"PMI_FD", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID",
                                                                   "MPI_LOCALNRANKS"};

/// The kind of MPI service. With automatic, each host detects the programs that need MPI.
Mpi chosen_mpi(const Request& request);

/// Whether the variable belongs to a rank of the MPI job around dlaunch.
bool left_by_outer_mpi(std::string_view name);

/// Adds PMI-1's variables and Plan::mpi to a plan that is otherwise complete. Keeps values of -x. PMIx's variables
/// contain a port of the host; each host adds them later (pmix/environment.h).
void add_mpi(Plan& plan, Mpi mpi);

/// Like add_mpi(), for the programs and ranks of a spawned world. `first_app` is the number of its first program;
/// `here` has the number of its ranks on each host.
void add_spawned_mpi(std::vector<App>& apps, std::vector<Rank>& ranks, int first_app, const std::vector<int>& here);

}  // namespace dlaunch::plan
