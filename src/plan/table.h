// Text laid out for people's terminals: aligned columns, shortened words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

/// Columns that `text` takes, one a code point; a byte that is no UTF-8 counts as one.
size_t columns(std::string_view text);

/// At most `width` columns; what was cut off shows as a final "…".
std::string shorten(std::string_view text, size_t width);

inline constexpr size_t kWidestCell = 1024;  ///< columns: what a host says must not widen every row

/// Rows of equal length as lines of aligned columns, each line after `indent` and ending in a newline.
std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent);

/// Words in lines of at most `width` columns where they fit, each line after `indent` and ending in a newline.
std::string wrapped(const std::vector<std::string>& words, std::string_view indent, size_t width);

}  // namespace dlaunch::plan
