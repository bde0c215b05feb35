#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// Splits a line into words at blanks outside single quotes.
std::vector<std::string> words_of(string_view text) {
  std::vector<std::string> words;
  bool quoted = false;
  bool begun = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      if (!std::exchange(begun, true)) words.emplace_back();
    } else if (!quoted && (c == ' ' || c == '\t')) {
      begun = false;
    } else {
      if (!std::exchange(begun, true)) words.emplace_back();
      words.back() += c;
    }
  }
  return words;
}

/// Quotes a word for the shell. %t becomes the rank, %o the index of the rank among the ranks of the line.
std::string shell_word(string_view word) {
  std::string text;
  while (!word.empty()) {
    const size_t percent = std::min(word.find('%'), word.size());
    if (percent > 0) text += shell_quote(word.substr(0, percent));
    word.remove_prefix(percent);
    if (word.empty()) break;
    const bool task = word.starts_with("%t");
    const bool offset = word.starts_with("%o");
    text += task ? "\"$SLURM_PROCID\"" : offset ? "\"$o\"" : shell_quote("%");
    word.remove_prefix(task || offset ? 2 : 1);
  }
  return text.empty() ? "''" : text;
}

/// The branch of the shell's `case` for one line of the file.
Result<std::string> branch_of(const TextLine& line, std::set<int>& taken) {
  const auto words = words_of(line.text);
  const auto refused = [&](std::string what, std::string hint) {
    return fail({.where = line.where, .what = std::move(what), .why = "", .hint = std::move(hint)});
  };
  if (words.size() < 2) return refused("missing program", "write RANKS PROGRAM ARGUMENTS");
  std::string branches;
  std::string command;
  for (size_t i = 1; i < words.size(); ++i) command += " " + shell_word(words[i]);
  if (words.front() == "*") return "*) o=$SLURM_PROCID; exec" + command + " \"$@\";;\n";
  const auto ranks = parse_int_list(words.front(), kMaxRanks);
  if (!ranks) return refused("invalid rank list \"" + words.front() + "\": expected 0-3,5 or *", "");
  int offset = 0;
  for (const int rank : *ranks) {
    if (!taken.insert(rank).second) continue;  // the first line with this rank wins
    branches += std::to_string(rank) + ") o=" + std::to_string(offset) + "; exec" + command + " \"$@\";;\n";
    ++offset;
  }
  return branches;
}

}  // namespace

Result<std::vector<std::string>> srun_multi_prog(LauncherJob& job, const std::vector<std::string>& words) {
  const auto path = TRY(absolute_path(words.front(), job.context().cwd));
  auto text = job.context().read_file(path);
  if (!text) return fail(text.error().error);
  TRY(check_text(*text, words.front()));
  std::set<int> taken;
  std::string branches;
  for (const TextLine& line : lines_of(*text, words.front())) {
    if (trim(line.text).empty() || trim(line.text).starts_with('#')) continue;
    const auto branch = TRY(branch_of(line, taken));
    branches += branch;
  }
  std::vector<std::string> argv = {
      "sh", "-c",
      "case $SLURM_PROCID in\n" + branches + "esac\necho \"srun: missing program for rank $SLURM_PROCID\" >&2\nexit 1",
      "sh"};
  argv.insert(argv.end(), words.begin() + 1, words.end());
  return argv;
}

}  // namespace dlaunch::cli
