// The component for progress, hangs (job/hangs.h) and stack reports of the ranks. A stack report is printed for a hang,
// before the job's end, at the signal of --stacks-on, and for `dlaunch stacks`.
#pragma once

#include <memory>

#include "launcher/component.h"

namespace dlaunch::hangs {

std::unique_ptr<launcher::Component> make_rank_watch(const launcher::Context& context);

}  // namespace dlaunch::hangs
