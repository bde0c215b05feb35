// Random numbers from the kernel, for secrets and for names that nobody can foresee.
#pragma once

#include <cstddef>
#include <string>

namespace dlaunch::sys {

/// Throws when the kernel has none, which cannot happen once the machine is up.
std::string random_bytes(std::size_t count);

/// `bytes` random bytes, each as two lower-case hexadecimal digits.
std::string random_hex(std::size_t bytes);

}  // namespace dlaunch::sys
