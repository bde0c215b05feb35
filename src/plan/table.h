// Lays out text for terminals: aligned columns, shortened words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

/// The width of `text` in columns: one per code point, and one per invalid byte of UTF-8.
size_t columns(std::string_view text);

/// Shortens to `width` columns; "…" marks the cut.
std::string shorten(std::string_view text, size_t width);

inline constexpr size_t kWidestCell = 1024;  ///< in columns; limits the width of rows with text from a host

/// Lays out rows of equal length in aligned columns. Each line starts with `indent` and ends with a newline.
std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent);

/// Lays out words in lines of at most `width` columns if possible. Each line starts with `indent` and ends with a
/// newline.
std::string wrapped(const std::vector<std::string>& words, std::string_view indent, size_t width);

}  // namespace dlaunch::plan
