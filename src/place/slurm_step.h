// The command lines of srun that start agents: one step for each node, or one step for all nodes. PURE.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

/// ManagerRow::command and ManagerRow::dial_in. `environment`: the launcher's; some of its variables would change the
/// meaning of the command. {host} becomes the node, {step} becomes Reach::step.
std::string srun_command(const Environment& environment, const std::string& program, const StepGpus& gpus);
std::optional<DialIn> srun_dial_in(const Environment& environment, const std::string& program, const StepGpus& gpus);

/// ManagerRow::meaning.
LineMeaning meaning_for_srun(std::string_view line);

}  // namespace dlaunch::place
