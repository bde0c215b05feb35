// The last line of a failed rank's output, in a form that is equal for equal failures. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::job {

inline constexpr std::size_t kFailureLine = 200;  ///< limit of the result, in bytes

/// Replaces each number with '#': decimal and hexadecimal numbers, addresses, times, dates and the numbers in names
/// (node12, [rank3]). Removes colours and repeated white space. Two lines that differ only in numbers give equal texts.
/// A hexadecimal number without "0x" needs a digit, or eight letters: "added" is a word, "deadbeef" is a number.
std::string without_numbers(std::string_view line);

/// without_numbers() of the last line that is not blank; empty without such a line.
std::string failure_line(const std::vector<std::string>& lines);

}  // namespace dlaunch::job
