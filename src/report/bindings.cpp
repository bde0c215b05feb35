#include "report/bindings.h"

namespace dlaunch::report {

std::string bindings_text(const plan::Plan& plan, const job::Outcome& outcome) {
  std::string text;
  const auto ranks = static_cast<size_t>(plan.worlds.size(1, static_cast<int>(plan.ranks.size())));
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto& host = plan.host(plan.ranks[rank].host).host.name;
    text += "dlaunch: rank " + std::to_string(rank) + " on " + host + ", pid " +
            std::to_string(outcome.ranks[rank].pid) + ": CPUs " + outcome.ranks[rank].cpus + '\n';
  }
  return text;
}

}  // namespace dlaunch::report
