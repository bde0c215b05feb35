// All components of the launcher.
#pragma once

#include "hangs/rank_watch.h"
#include "launcher/components.h"
#include "mpi/wire_up.h"

namespace dlaunch::session {

inline launcher::Components make_components(const launcher::Context& context) {
  using namespace launcher;
  Components components;
  for (const auto make : {
           make_preemption, make_terminal, make_staging,
           make_sidecar,  // before stdin: takes messages about a process that is not a rank
           make_stdin, mpi::make_wire_up, hangs::make_rank_watch, make_sweeps, make_agent_texts,
           make_host_actions,  // after stdin, which restores the terminal before this process stops
       }) {
    components.push_back(make(context));
  }
  return components;
}

}  // namespace dlaunch::session
