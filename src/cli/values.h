// Parses an option's text to its value; errors name the text and what would be right. PURE.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

inline constexpr int kMaxRanks = 1 << 20;

/// The Error of most setters: the text, what is wrong with it, what would be right.
tl::unexpected<Error> bad_value(std::string_view text, std::string_view wrong, std::string hint);

inline constexpr int kMaxKeptLogs = 1000;
inline constexpr int kMostRestarts = 100'000;
inline constexpr int kMostProgressLag = 1'000'000'000;
Result<int> whole_number(std::string_view text, int min, int max);
/// Parses "5000" or "5000-5010".
Result<PortRange> port_range(std::string_view text);
/// Parses "5" or "0.5"; rounded up to a millisecond.
Result<std::chrono::milliseconds> seconds(std::string_view text);
Result<StdinTarget> stdin_target(std::string_view text);
Result<std::set<int>> rank_list(std::string_view text);
/// Parses USR1, SIGUSR1 or 10: a signal that a program may catch.
Result<int> checkpoint_signal(std::string_view text);
/// Parses one of the signals that mean nothing else to dlaunch: USR1, USR2 and QUIT.
Result<int> stacks_signal(std::string_view text);
Result<std::set<int>> exit_codes(std::string_view text);
/// Parses DIR[:nocopy,nojobid] and makes DIR absolute.
Result<output::FileSettings> file_settings(std::string_view text, const std::string& cwd);
Result<std::string> absolute_path(std::string_view path, const std::string& cwd);
/// Parses VAR, VAR=VALUE or PREFIX_*. Errors never contain the value.
Result<plan::EnvSetting> env_setting(std::string_view text);

/// "slot:PE=2" has "slot" and ":PE=2", "ppr:2:node:pe=4" has "ppr:2:node" and ":pe=4", ":OVERSUBSCRIBE" no policy.
struct MapBySpelling {
  std::string_view policy;
  std::string_view modifiers;
};
MapBySpelling split_map_by(std::string_view text);

template <class T>
using Word = std::pair<std::string_view, T>;

tl::unexpected<Error> unknown_word(std::string_view text, const std::vector<std::string>& words);

/// Parses one of a few words.
template <class T, size_t N>
Result<T> one_of(std::string_view text, const std::array<Word<T>, N>& words) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known.emplace_back(word);
  }
  return unknown_word(text, known);
}

}  // namespace dlaunch::cli
