// Which MPI a program is of, or may start. PURE. Asked once for each program, so that one that cannot costs
// nothing.
#pragma once

#include <string_view>

namespace dlaunch::pmi {

/// A file this long is not looked into.
inline constexpr size_t kProbed = 256u << 10;

/// What an executable links. `none`: nothing but the C and C++ runtime, and it imports nothing that starts a program or
/// loads a library, so that MPI can be nowhere in it.
enum class Family { none, mpich, pmix, unknown };

/// `file`: all of it, or its first kProbed bytes.
Family family_of(std::string_view file);

}  // namespace dlaunch::pmi
