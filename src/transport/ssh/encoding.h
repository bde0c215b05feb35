// Numbers and strings of ssh's binary formats. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::transport::ssh {

/// Returns the bytes with their length in four bytes in front.
std::string packed(std::string_view bytes);
/// Removes such a string from the front of `bytes`; nullopt: not a complete string.
std::optional<std::string_view> unpack(std::string_view& bytes);
std::string packed_number(std::uint32_t number);
std::optional<std::uint32_t> unpack_number(std::string_view& bytes);

}  // namespace dlaunch::transport::ssh
