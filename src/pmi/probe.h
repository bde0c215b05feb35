// Finds the MPI that a program uses or may start. PURE. Called once per program, so that a program without MPI costs
// little.
#pragma once

#include <string_view>

namespace dlaunch::pmi {

/// A longer file is not examined.
inline constexpr size_t kProbed = 256u << 10;

/// The libraries of an executable. `none`: only the C and C++ runtime, and no imported function starts a program or
/// loads a library, so that the program cannot use MPI.
enum class Family { none, mpich, pmix, unknown };

/// `file` is the whole file, or its first kProbed bytes.
Family family_of(std::string_view file);

}  // namespace dlaunch::pmi
