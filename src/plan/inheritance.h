// Decides which variables of dlaunch's environment a rank gets on this machine, and which on other hosts. Pure.
#pragma once

#include <string_view>

#include "dlaunch/request.h"

namespace dlaunch::plan {

/// Whether a rank without --env-all does not inherit the variable. Patterns of -x do not match these names.
bool is_no_heritage(const Request& request, std::string_view name);

/// Whether ranks on this machine get the variable. srun passes on its own variables also with --export=NONE.
bool is_inherited(const Request& request, std::string_view name);

/// --env-all: whether the value stays although --env-for sets the variable. Launchers of PyTorch, Horovod and MindSpore
/// replace the value.
bool is_kept(const Request& request, std::string_view name);

/// Whether the variable is not sent to other hosts. `by_manager`: a batch system starts the agents.
bool stays_here(const Request& request, std::string_view name, bool by_manager);

}  // namespace dlaunch::plan
