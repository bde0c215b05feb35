// The components of the launcher. Each is defined in the file of its feature.
#pragma once

#include <memory>
#include <vector>

#include "launcher/component.h"

namespace dlaunch::launcher {

std::unique_ptr<Component> make_agent_texts(const Context& context);
std::unique_ptr<Component> make_host_actions(const Context& context);
std::unique_ptr<Component> make_preemption(const Context& context);
std::unique_ptr<Component> make_rank_watch(const Context& context);
std::unique_ptr<Component> make_sidecar(const Context& context);
std::unique_ptr<Component> make_staging(const Context& context);
std::unique_ptr<Component> make_stdin(const Context& context);
std::unique_ptr<Component> make_sweeps(const Context& context);
std::unique_ptr<Component> make_terminal(const Context& context);
std::unique_ptr<Component> make_wire_up(const Context& context);

/// In the order in which they receive events. The context must outlive the components.
inline std::vector<std::unique_ptr<Component>> make_components(const Context& context) {
  std::vector<std::unique_ptr<Component>> components;
  for (const auto make : {
           make_preemption, make_terminal, make_staging,
           make_sidecar,  // before stdin: takes messages about a process that is not a rank
           make_stdin, make_wire_up, make_rank_watch, make_sweeps, make_agent_texts,
           make_host_actions,  // after stdin, which restores the terminal before this process stops
       }) {
    components.push_back(make(context));
  }
  return components;
}

}  // namespace dlaunch::launcher
