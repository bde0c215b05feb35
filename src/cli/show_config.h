// --show-config: each option's value and who set it, without values of variables (-x). PURE.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/preferences.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

std::string show_config(const ResolvedOptions& effective, const Preferences& preferences, Format format);

}  // namespace dlaunch::cli
