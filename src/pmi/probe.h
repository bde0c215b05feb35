// Which MPI a program uses, or may start. PURE. It is asked once for each program, so that one without MPI costs
// nothing.
#pragma once

#include <string_view>

namespace dlaunch::pmi {

/// A longer file is not examined.
inline constexpr size_t kProbed = 256u << 10;

/// What an executable links. `none`: only the C and C++ runtime, and no imported function starts a program or loads a
/// library, so that it cannot use MPI.
enum class Family { none, mpich, pmix, unknown };

/// `file` is all of it, or its first kProbed bytes.
Family family_of(std::string_view file);

}  // namespace dlaunch::pmi
