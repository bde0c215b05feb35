// What the agents are told of the plan. PURE.
#pragma once

#include "launcher/settings.h"
#include "output/output.h"
#include "plan/plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// What the ranks of this host share, its apps, then its ranks.
std::vector<wire::Message> start_frames(const plan::Plan& plan, int host, const Settings& settings,
                                        const std::vector<output::RankFacts>& facts);

/// The directories of this host's ranks, where they have some.
wire::Prepare prepare_frame(const plan::Plan& plan, int host, const Settings& settings,
                            const std::vector<output::RankFacts>& facts);

/// With the companion's, after all ranks.
std::vector<output::RankFacts> rank_facts(const plan::Plan& plan);

/// Whether the launcher's stdin goes to that rank.
bool takes_stdin(const StdinTarget& target, int rank);

/// First grant for each output stream of a host: bounded in all, so that many ranks do not mean much memory.
std::uint32_t first_credit(int local_ranks);

}  // namespace dlaunch::launcher
