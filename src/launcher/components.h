// The components of this module. Each is defined in the file of its feature; session/components.h has all components.
#pragma once

#include <memory>

#include "launcher/component.h"

namespace dlaunch::launcher {

std::unique_ptr<Component> make_agent_texts(const Context& context);
std::unique_ptr<Component> make_host_actions(const Context& context);
std::unique_ptr<Component> make_preemption(const Context& context);
std::unique_ptr<Component> make_sidecar(const Context& context);
std::unique_ptr<Component> make_staging(const Context& context);
std::unique_ptr<Component> make_stdin(const Context& context);
std::unique_ptr<Component> make_sweeps(const Context& context);
std::unique_ptr<Component> make_terminal(const Context& context);

}  // namespace dlaunch::launcher
