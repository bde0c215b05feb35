// Whether a program may be an MPI one, or start one. PURE. Asked once for each program, so that one that cannot costs
// nothing.
#pragma once

#include <string_view>

namespace dlaunch::pmi {

/// A file this long is not looked into.
inline constexpr size_t kProbed = 256u << 10;

/// `file`: all of it, or its first kProbed bytes. False only of an executable that links nothing but the C and C++
/// runtime and imports nothing that starts a program or loads a library: MPI can be nowhere in it.
bool may_use_mpi(std::string_view file);

}  // namespace dlaunch::pmi
