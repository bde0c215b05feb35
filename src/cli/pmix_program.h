// Finds dlaunch-pmix, the PMIx server that hosts run beside their agent where MPI programs need it.
#pragma once

#include <string>

namespace dlaunch::cli {

/// Beside dlaunch itself, as it is built, or where it is installed. Empty: this build has none.
std::string pmix_program();

}  // namespace dlaunch::cli
