// Promise: no byte of a rank is lost, and the bytes of a rank stay in order.
#include <sstream>

#include "promises/promises.h"

namespace sim {

void Bytes::job_ended(const Facts& facts) {
  check_input(facts);
  if (!facts.outcome || !facts.world.reading()) return;
  std::map<int, std::string> shown;
  std::istringstream lines(facts.world.read());
  for (std::string line; std::getline(lines, line);) {
    if (facts.world.scenario().writes && line.starts_with('d')) continue;  // a process that the rank left
    if (line.size() < 2 || line[0] != 'r') {
      broke("a line that no rank wrote");
      continue;
    }
    shown[std::atoi(line.c_str() + 1)] += line + '\n';
  }
  // The job waits for a slow reader, unless the user or a time limit ends the job, or a process holds the stream open.
  const bool unread = facts.outcome->unread && (facts.history.user_signalled() || facts.world.scenario().timeout > 0 ||
                                                !facts.world.scenario().daemons.empty());
  const bool cut_short = unread || facts.history.managed() || facts.history.count(FaultKind::Of::user) > 1;
  for (const auto& [rank, wrote] : facts.world.written()) {
    if (facts.world.scenario().stuck.contains(rank) && facts.outcome->unended) continue;
    const std::string& seen = shown[rank];
    // An agent that got TERM waits for 2 s for a launcher that is stopped.
    const bool unheard = facts.history.met("termg") && facts.history.launcher_was_stopped();
    const bool lossless = facts.history.impaired().empty() && !facts.history.outlasted_lease() && !unheard;
    if (lossless && !cut_short && seen != wrote) broke("bytes of a rank are lost");
    if (lossless && !wrote.starts_with(seen)) broke("bytes of a rank are out of order");
  }
}

void Bytes::check_input(const Facts& facts) {
  const std::string& typed = facts.world.typed();
  const std::string& taken = facts.world.input_taken();
  if (!typed.starts_with(taken)) broke("bytes of stdin are out of order");
  constexpr Ns kEnough = 8 * kSecond;  // a pause of the launcher delays the input
  const bool undisturbed = facts.world.scenario().faults.empty() && facts.world.now() > kEnough;
  if (undisturbed && taken != typed) broke("bytes of stdin are lost");
}

}  // namespace sim
