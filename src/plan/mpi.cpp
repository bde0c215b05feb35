#include "plan/mpi.h"

#include <algorithm>
#include <string>

#include "base/environment.h"
#include "base/index_cast.h"

namespace dlaunch::plan {
namespace {

constexpr std::array<std::string_view, 3> kPrefixes = {"PMI_", "PMIX_", "HYDI_"};
constexpr std::array<std::string_view, 5> kNames = {"MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                                                    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "PMI2_CONNECT_TO_SERVER",
                                                    "PMI2_SUN_PATH"};

/// Sets the variable unless -x did: -x has priority.
void set(std::vector<std::string>& environment, const App& app, std::string_view name, int value) {
  if (std::ranges::find(app.chosen, name) != app.chosen.end()) return;
  environment.push_back(std::string(name) + '=' + std::to_string(value));
}

void set_own(Rank& rank, const App& app, int here) {
  set(rank.env, app, "PMI_RANK", rank.rank);
  set(rank.env, app, "MPI_LOCALRANKID", rank.local_rank);
  set(rank.env, app, "MPI_LOCALNRANKS", here);
}

}  // namespace

/// With Horovod, serves no MPI unless requested: Horovod would use these variables to run on MPI, but --env-for
/// configures Horovod without MPI. With --env-for mpich or openmpi, serves only this library: a program with the
/// variables of both libraries could use the wrong ones, or none.
Mpi chosen_mpi(const Request& request) {
  const auto asked_for = [&](Framework one) {
    return std::ranges::find(request.frameworks, one) != request.frameworks.end();
  };
  if (request.mpi != Mpi::automatic) return request.mpi;
  if (asked_for(Framework::horovod)) return Mpi::none;
  if (asked_for(Framework::mpich)) return Mpi::pmi1;
  return asked_for(Framework::openmpi) ? Mpi::pmix : Mpi::automatic;
}

bool left_by_outer_mpi(std::string_view name) {
  if (name.starts_with("PMIX_MCA_")) return false;  // settings by the user
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

void add_mpi(Plan& plan, Mpi mpi) {
  plan.mpi = mpi;
  if (mpi == Mpi::none || mpi == Mpi::pmix) return;
  for (App& app : plan.apps) {
    for (std::vector<std::string>* environment : {&app.env, &app.env_elsewhere}) {
      if (environment->empty()) continue;  // all ranks of the world are on this host
      set(*environment, app, "PMI_FD", kPmiFd);
      set(*environment, app, "PMI_SIZE", static_cast<int>(plan.ranks.size()));
    }
  }
  for (Rank& rank : plan.ranks) {
    const App& app = plan.app_of(rank);
    const size_t here = plan.host_of(rank).ranks.size();
    set_own(rank, app, static_cast<int>(here));
  }
}

void add_spawned_mpi(std::vector<App>& apps, std::vector<Rank>& ranks, int first_app, const std::vector<int>& here) {
  for (App& app : apps) {
    const bool size_chosen = std::ranges::find(app.chosen, "PMI_SIZE") != app.chosen.end();
    for (std::vector<std::string>* environment : {&app.env, &app.env_elsewhere}) {
      if (environment->empty()) continue;
      std::erase_if(*environment, [&](const std::string& entry) {
        const std::string_view name = variable_name(entry);
        return (name == "PMI_SIZE" && !size_chosen) || name == "PMI_SPAWNED";
      });
      set(*environment, app, "PMI_SIZE", static_cast<int>(ranks.size()));
      environment->emplace_back("PMI_SPAWNED=1");
    }
  }
  for (Rank& rank : ranks) {
    set_own(rank, at_index(apps, rank.app - first_app), at_index(here, rank.host));
  }
}

}  // namespace dlaunch::plan
