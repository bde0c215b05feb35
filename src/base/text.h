// Small pure functions on text for several modules.
#pragma once

#include <concepts>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch {

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// The letters A to Z in lower case.
std::string lower_case(std::string_view text);

/// Parses a whole decimal number in [min, max]. Returns nullopt for any other text.
std::optional<long> parse_int(std::string_view text, long min, long max);

/// Parses a list of numbers: "0,3-5" gives {0,3,4,5}. Returns nullopt for malformed or descending lists, and above
/// `max`.
std::optional<std::set<int>> parse_int_list(std::string_view text, int max);

/// "1 rank", "3 ranks".
std::string count(std::integral auto number, std::string_view noun) {
  return std::to_string(number) + ' ' + std::string(noun) + (number == 1 ? "" : "s");
}

/// Writes numbers as ranges: {0,1,2,5} gives "0-2,5".
std::string fold_ints(const std::set<int>& numbers);
/// Like the function above; each number has at least `width` digits.
std::string fold_ints(const std::set<int>& numbers, size_t width);

/// Writes host names as ranges, ordered by the first name: {n1,n2,n3,login,n07} gives "n[1-3],login,n07".
std::string fold_names(const std::vector<std::string>& names);

/// The word of `known` with the smallest edit distance to `word`, if the distance is small enough for a typo.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// Quotes `word` for a shell, only if needed.
std::string shell_quote(std::string_view word);

// Text with {fields}, for --label, --output-filename and --rank-dir. "{{" is a literal brace. Pure.

/// Literal text, or the name of a field if `field` is not empty.
struct Piece {
  std::string text;
  std::string field;
};

/// `where` is the name of the option, for the error.
Result<std::vector<Piece>> parse_template(std::string_view text, const std::vector<std::string>& fields,
                                          std::string_view where);

bool has_field(const std::vector<Piece>& pieces, std::string_view field);

}  // namespace dlaunch
