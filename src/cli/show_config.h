// --show-config: the value and the source of each option, without the values of variables (-x). PURE.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/preferences.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

std::string show_config(const ResolvedOptions& effective, const Preferences& preferences, Format format);

}  // namespace dlaunch::cli
