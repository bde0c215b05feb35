// What the agents are told of the plan. PURE.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "output/output.h"
#include "plan/spawn_plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// The newest world, as each of its hosts is told of it, but for how many of its ranks are there. Linear in hosts and
/// ranks: made once for all hosts.
wire::MpiWorld newest_world(const plan::Plan& plan);

/// What the ranks of this host share, its apps, then its ranks. `world`: newest_world().
std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts, const wire::MpiWorld& world);

/// Those of the newest world, on a host that has some of it.
std::vector<wire::Message> world_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts, const wire::MpiWorld& world);

/// The ids of the newest world's ranks on that host.
std::vector<int> newest_ranks(const plan::Plan& plan, int host);

/// Of all hosts, also those without a rank: what MPI calls the universe. A rank beyond the slots counts as one.
std::uint32_t slots(const plan::Plan& plan);

/// The name of a world's key-value space.
std::string space_name(const plan::Plan& plan, int world);

/// The directories of this host's ranks, where they have some.
wire::Prepare prepare_frame(const plan::Plan& plan, int host, const JobOptions& settings,
                            const std::vector<output::RankFacts>& facts);

/// With the sidecar's, after all ranks.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan);

/// Those of the ranks of a world that would be the plan's next.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan, const plan::SpawnPlan& grown);

/// Whether the launcher's stdin goes to that rank: to one that was spawned it never does.
bool takes_stdin(const plan::StdinTarget& target, const plan::Plan& plan, int id);

/// Which of a rank's streams come in frames, where its host's agent does not pass descriptors: not those that the rank
/// writes into files itself.
std::array<bool, output::kStreams> carried_streams(const plan::Plan& plan, const JobOptions& settings,
                                                   const output::RankFacts& facts, int id);

/// As Job takes them.
std::vector<int> hosts_of_ranks(const plan::Plan& plan);
std::vector<std::string> host_names(const plan::Plan& plan);

/// How many ranks of the job as it was started are on that host.
int ranks_at_start(const plan::Plan& plan, int host);

/// First grant for each output stream of a host: bounded in all, so that many ranks do not mean much memory.
std::uint32_t first_credit(int local_ranks);

}  // namespace dlaunch::launcher
