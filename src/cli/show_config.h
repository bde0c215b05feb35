// --show-config: each option's value and who set it. Values of variables (-x) are not among them. PURE.
#pragma once

#include <string>

#include "cli/effective.h"
#include "cli/options.h"
#include "cli/preferences.h"

namespace dlaunch::cli {

std::string show_config(const Effective& effective, const Preferences& preferences, Format format);

}  // namespace dlaunch::cli
