// The frames that tell agents of the plan. PURE.
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

/// The newest world, as its hosts are told of it, without the number of ranks on each. Linear in hosts and ranks; made
/// once for all hosts.
wire::MpiWorld newest_world(const plan::Plan& plan);

/// What the ranks of this host share, then its apps, then its ranks. `world` is newest_world().
std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts, const wire::MpiWorld& world);

/// The frames of the newest world for a host that has ranks of it.
std::vector<wire::Message> world_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts, const wire::MpiWorld& world);

/// The ids of the newest world's ranks on that host.
std::vector<int> newest_ranks(const plan::Plan& plan, int host);

/// The slots of all hosts, including those without a rank: MPI's universe. Each rank beyond the slots counts as one.
std::uint32_t slots(const plan::Plan& plan);

/// The name of a world's key-value space.
std::string space_name(const plan::Plan& plan, int world);

/// The directories of this host's ranks, where they have some.
wire::Prepare prepare_frame(const plan::Plan& plan, int host, const JobOptions& settings,
                            const std::vector<output::RankFacts>& facts);

/// Facts of all ranks, and of the sidecar after them.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan);

/// Facts of the ranks of a world that would be the plan's next.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan, const plan::SpawnPlan& spawned);

/// Whether the launcher's stdin goes to that rank; a spawned rank never gets it.
bool takes_stdin(const plan::StdinTarget& target, const plan::Plan& plan, int id);

/// Which of a rank's streams come in frames where the agent does not pass descriptors: all but those that the rank
/// writes into files itself.
std::array<bool, output::kStreams> carried_streams(const plan::Plan& plan, const JobOptions& settings,
                                                   const output::RankFacts& facts, int id);

/// The host of each rank, for Job.
std::vector<int> hosts_of_ranks(const plan::Plan& plan);
std::vector<std::string> host_names(const plan::Plan& plan);

/// How many ranks of the job as it was started are on that host.
int ranks_at_start(const plan::Plan& plan, int host);

/// The first grant for each output stream of a host; their sum is bounded, so that many ranks do not take much memory.
std::uint32_t first_credit(int local_ranks);

}  // namespace dlaunch::launcher
