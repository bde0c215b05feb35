// A small file of the kernel's in one read.
#pragma once

#include <optional>
#include <string>

namespace dlaunch::allocate {

/// The first 64 KiB of a file; nullopt when it cannot be opened or read.
std::optional<std::string> read_file(const std::string& path);

}  // namespace dlaunch::allocate
