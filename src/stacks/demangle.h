// The readable name of a C++ function. Pure. The names come from files of other users, and a short mangled name may
// stand for gigabytes of text, so this parser never expands a substitution: time and text are linear in the input.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::stacks {

/// The qualified name without parameters: "ns::List<…>::add" for _ZN2ns4ListIiE3addEi (Itanium C++ ABI, section 5.1).
/// Template arguments are abbreviated. Returns names of other kinds, and long or unusual names, without a change.
std::string demangled(std::string_view name);

}  // namespace dlaunch::stacks
