// Text laid out for people's terminals: aligned columns, shortened words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

/// The columns that `text` takes: one for each code point, and for each byte that is no UTF-8.
size_t columns(std::string_view text);

/// Shortens to `width` columns; "…" marks what was cut off.
std::string shorten(std::string_view text, size_t width);

inline constexpr size_t kWidestCell = 1024;  ///< in columns: what a host says must not widen every row

/// Lays out rows of equal length in aligned columns. Each line begins with `indent` and ends in a newline.
std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent);

/// Lays out words in lines of at most `width` columns where they fit. Each begins with `indent` and ends in a newline.
std::string wrapped(const std::vector<std::string>& words, std::string_view indent, size_t width);

}  // namespace dlaunch::plan
