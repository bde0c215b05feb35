#include "agent/mpi_service.h"

#include <cerrno>

#include "agent/environment.h"
#include "base/environment.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

/// The MPI family of a program; unknown if a preloaded library may bring MPI into the program.
pmi::Family family_of(const std::string& path, const std::vector<std::string>& env) {
  const pmi::Family family = pmi::family_of(sys::read_file(path, pmi::kProbed).value_or(""));
  return family == pmi::Family::none && variable(env, "LD_PRELOAD") ? pmi::Family::unknown : family;
}

}  // namespace

void MpiService::on(const wire::MpiWorld& world) {
  pmi_.configure(world);
  pmix_.configure(world);
  ranks_ = world.size;
}

ServedMpi MpiService::serve(const std::string& path, std::vector<std::string>& env) {
  if (ranks_ == 0) return {};
  const pmi::Family family = family_of(path, env);
  const ServedMpi served{family, pmi_.serves(family), pmix_.serves(family)};
  if (served.pmix && !served.pmi) drop_planned_pmi1(env, ranks_);
  return served;
}

std::vector<std::string> MpiService::environment(const wire::Spawn& spawn, const wire::Program& program,
                                                 const ServedMpi& served) const {
  std::vector<std::string> env = spawn.env;
  if (!served.pmix || !pmix_.in_world(spawn.rank)) return env;
  if (!served.pmi) drop_pmi1(env);
  add_missing(env, program.env, pmix_.environment(spawn, served.family, program.argv.front()));
  return env;
}

tl::expected<sys::Fd, int> MpiService::connect(const wire::Spawn& spawn, const ServedMpi& served) {
  if (!served.pmi || !pmi_.in_world(spawn.rank)) return {};
  sys::Fd theirs = pmi_.connect(spawn.rank, spawn.app);
  if (!theirs) return tl::unexpected(errno);
  return theirs;
}

bool MpiService::ended(std::uint32_t rank) {
  const bool in_pmix = pmix_.ended(rank);
  return pmi_.ended(rank) || in_pmix;
}

}  // namespace dlaunch::agent
