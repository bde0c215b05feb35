// Numbers and strings of ssh's binary formats. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::transport::ssh {

/// The bytes, preceded by their length in four bytes.
std::string packed(std::string_view bytes);
/// Takes such a string off the front; nullopt when there is none.
std::optional<std::string_view> unpack(std::string_view& bytes);
std::string packed_number(std::uint32_t number);
std::optional<std::uint32_t> unpack_number(std::string_view& bytes);

}  // namespace dlaunch::transport::ssh
