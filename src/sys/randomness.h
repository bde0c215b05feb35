// Random numbers from the kernel, for secrets and unpredictable names.
#pragma once

#include <cstddef>
#include <string>

namespace dlaunch::sys {

/// Throws if the kernel's random generator is not ready yet, early in the boot.
std::string random_bytes(std::size_t count);

/// `bytes` random bytes, each as two lower-case hexadecimal digits.
std::string random_hex(std::size_t bytes);

}  // namespace dlaunch::sys
