// Parsers from an option's text to its value. PURE. The setter's caller fills in an Error's empty `where`.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/shared_texts.h"
#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

inline constexpr int kMaxRanks = 1 << 20;

/// The Error for every invalid value: `invalid KIND "VALUE": expected EXPECTED`.
tl::unexpected<Error> bad_value(std::string_view value, std::string_view kind, std::string_view expected,
                                std::string hint = "");
/// The Error for an empty value: `missing KIND`, with the hint `write EXAMPLE`.
tl::unexpected<Error> missing_value(std::string_view kind, std::string_view example);

inline constexpr int kMaxKeptLogs = 1000;
inline constexpr int kMostRestarts = 100'000;
inline constexpr int kMostProgressLag = 1'000'000'000;
Result<int> whole_number(std::string_view text, int min, int max);
/// Parses "5000" or "5000-5010".
Result<PortRange> port_range(std::string_view text);
/// Parses a duration (base/time.h).
Result<std::chrono::milliseconds> seconds(std::string_view text);
/// The same, from `least` to `most`; an Error has `range` as the expected value.
Result<std::chrono::milliseconds> seconds_within(std::string_view text, std::chrono::milliseconds least,
                                                 std::chrono::milliseconds most, std::string_view range);
Result<StdinTarget> stdin_target(std::string_view text);
Result<std::set<int>> rank_list(std::string_view text);
/// Parses a signal that a program can catch: USR1, SIGUSR1 or 10.
Result<int> checkpoint_signal(std::string_view text);
/// Parses USR1, USR2 or QUIT. dlaunch uses all other signals for something else.
Result<int> stacks_signal(std::string_view text);
Result<std::set<int>> exit_codes(std::string_view text);
/// Whether the text after a ':' of a file name is a list of directives ("nocopy,nojobid"), maybe with a typing error.
bool looks_like_directive(std::string_view words);
/// Removes the last ':' of a file name and the suffix after it, and returns the suffix. nullopt: `is_suffix` does not
/// accept the text, or the ':' belongs to the name, as in "a:b/" and "{time:…}".
std::optional<std::string_view> take_suffix(std::string_view& name, bool (*is_suffix)(std::string_view));

/// Parses DIR[:nocopy,nojobid] and DIR[:nocopy:nojobid]. The result's DIR is absolute.
Result<output::FileSettings> file_settings(std::string_view text, const std::string& cwd);
Result<std::string> absolute_path(std::string_view path, const std::string& cwd);
/// Parses VAR, VAR=VALUE or PREFIX_*. Errors never contain the value.
Result<plan::EnvSetting> env_setting(std::string_view text);

/// The parts of "slot:PE=2" are "slot" and ":PE=2"; of "ppr:2:node:pe=4" they are "ppr:2:node" and ":pe=4". The policy
/// of
/// ":OVERSUBSCRIBE" is empty.
struct MapBySpelling {
  std::string_view policy;
  std::string_view modifiers;
};
MapBySpelling split_map_by(std::string_view text);

/// Doubles the braces, as a template requires.
std::string literal(std::string_view text);
/// A template of --stdout-file without suffixes: a ':' is part of the name.
std::string without_suffixes(std::string name);

/// Returns an Error for "%r", "$RANK_ID" and similar in a template: the hint has the field to use, {rank}.
Result<void> check_template_fields(std::string_view text);

template <class T>
using Word = std::pair<std::string_view, T>;

inline constexpr std::array<Word<StdinTarget::Kind>, 2> kStdinWords{
    {{"none", StdinTarget::Kind::none}, {"all", StdinTarget::Kind::all}}};
inline constexpr std::array<Word<int>, 3> kStacksSignals{{{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"QUIT", SIGQUIT}}};

/// The Error for a word that is not one of `words`.
tl::unexpected<Error> unknown_word(std::string_view text, const std::vector<std::string>& words);

/// The words of a table for one_of(), as OptionSpec::choices.
template <const auto& Table>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto& row : Table) words.emplace_back(row.first);
  return words;
}

/// Returns the value of the pair whose word is `text`.
template <const auto& Table>
auto one_of(std::string_view text) -> Result<decltype(Table.front().second)> {
  for (const auto& [word, value] : Table) {
    if (word == text) return value;
  }
  return unknown_word(text, words_of<Table>());
}

// --progress: a regular expression that finds a rank's progress number in a line of output. The time per line is
// bounded: RE2 does not backtrack, and only the first kMostProgressMatches matches are read.

inline constexpr int kMostProgressMatches = 100;  ///< per line

/// Returns a function that reads the progress from a line: the first whole number in the group of the last match, or in
/// the whole match if the expression has no group. The function ignores a negative number at the start of the group.
Result<std::function<std::optional<std::int64_t>(std::string_view line)>> progress_pattern(std::string_view text);

}  // namespace dlaunch::cli
