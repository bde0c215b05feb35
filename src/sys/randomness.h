// Random numbers of the kernel's, as secrets and names that nobody can foresee are made of.
#pragma once

#include <cstddef>
#include <string>

namespace dlaunch::sys {

/// Throws when the kernel has none, which cannot happen once the machine is up.
std::string random_bytes(std::size_t count);

/// `bytes` of them, two lower-case digits each.
std::string random_hex(std::size_t bytes);

}  // namespace dlaunch::sys
