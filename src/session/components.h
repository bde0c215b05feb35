// All components of the launcher.
#pragma once

#include "hangs/rank_watch.h"
#include "launcher/components.h"
#include "mpi/wire_up.h"

namespace dlaunch::session {

inline launcher::Components make_components(const launcher::Context& context) {
  launcher::Components components;
  for (const auto make : {
           launcher::make_preemption, launcher::make_terminal, launcher::make_staging,
           launcher::make_sidecar,  // before stdin: takes messages about a process that is not a rank
           launcher::make_stdin, mpi::make_wire_up, hangs::make_rank_watch, launcher::make_sweeps,
           launcher::make_agent_texts,
           launcher::make_host_actions,  // after stdin, which restores the terminal before this process stops
       }) {
    components.push_back(make(context));
  }
  return components;
}

}  // namespace dlaunch::session
