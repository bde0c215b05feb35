// Builds the frames that describe the plan to agents. PURE.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "output/output.h"
#include "plan/spawn_plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// Layout::lease_ms: the ranks of a host that may be replaced, or that only spawned ranks use, must end before the next
/// round starts. A lost host without another login (--same-line) is not swept, so its agent must not wait for long.
/// `may_follow`: another round may follow this one.
std::uint32_t lease_ms(const plan::Plan& plan, const JobOptions& settings, const Hosts& hosts, bool may_follow,
                       int host);

/// First the data that the ranks of this host share, with `shared` at its end, then its apps, then its ranks.
std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts,
                                        std::vector<wire::Message> shared = {});

/// The frames of the newest world for a host with ranks in this world: `shared`, then its apps, then its ranks.
std::vector<wire::Message> world_frames(const plan::Plan& plan, int host, const JobOptions& settings,
                                        const std::vector<output::RankFacts>& facts, std::vector<wire::Message> shared);

/// The ids of the newest world's ranks on that host.
std::vector<int> newest_ranks(const plan::Plan& plan, int host);

/// The rank directories on this host; empty if there are none.
wire::Prepare prepare_frame(const plan::Plan& plan, int host, const JobOptions& settings,
                            const std::vector<output::RankFacts>& facts);

/// Facts of all ranks, followed by the sidecar.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan);

/// Facts of the ranks of a world that is not yet part of the plan.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan, const plan::SpawnPlan& spawned);

/// Whether that rank receives the launcher's stdin; a spawned rank never does.
bool takes_stdin(const plan::StdinTarget& target, const plan::Plan& plan, int id);

/// The streams of a rank that arrive in frames if the agent does not pass descriptors: all except the streams that the
/// rank writes into files itself.
std::array<bool, output::kStreams> carried_streams(const plan::Plan& plan, const JobOptions& settings,
                                                   const output::RankFacts& facts, int id);

/// The host of each rank, for Job.
std::vector<int> hosts_of_ranks(const plan::Plan& plan);

/// The file in which a PyTorch rank writes the reason of its failure.
inline constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE";
/// The values of kErrorFileVariable of the ranks on this machine, each once.
std::vector<std::string> error_files(const plan::Plan& plan);

std::vector<std::string> host_names(const plan::Plan& plan);

/// The number of initial ranks, without spawned ranks.
int ranks_at_start(const plan::Plan& plan);
/// The number of initial ranks on the host.
int ranks_at_start(const plan::Plan& plan, int host);

/// The first grant for each output stream of a host. The sum is bounded, so that memory use does not grow with the
/// ranks.
std::uint32_t first_credit(int local_ranks);

}  // namespace dlaunch::launcher
