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

/// Quotes the words of a line for a shell; each word begins with a blank. Single quotes enclose text, and a backslash
/// quotes the next character. Elsewhere, %t becomes the rank, and %o the index of the rank among the ranks of the line.
std::string shell_words(string_view line) {
  std::string words;
  std::string plain;
  bool begun = false;
  const auto end_plain = [&] {
    if (!plain.empty()) words += shell_quote(std::exchange(plain, {}));
  };
  while (!line.empty()) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c == ' ' || c == '\t') {
      end_plain();
      begun = false;
      continue;
    }
    if (!std::exchange(begun, true)) words += ' ';
    if (c == '\'') {
      const size_t size = std::min(line.find('\''), line.size());
      plain += line.substr(0, size);
      if (size == 0) words += "''";  // an empty word
      line.remove_prefix(std::min(size + 1, line.size()));
    } else if (c == '\\' && !line.empty()) {
      plain += line.front();
      line.remove_prefix(1);
    } else if (c == '%' && (line.starts_with('t') || line.starts_with('o'))) {
      end_plain();
      words += line.front() == 't' ? "\"$SLURM_PROCID\"" : "\"$o\"";
      line.remove_prefix(1);
    } else {
      plain += c;
    }
  }
  end_plain();
  return words;
}

/// The branch of the shell's `case` for one line of the file.
Result<std::string> branch_of(const TextLine& line, std::set<int>& taken) {
  const string_view text = trim(line.text);
  const string_view list = text.substr(0, text.find_first_of(" \t"));
  const std::string command = shell_words(text.substr(list.size()));
  const auto refused = [&](std::string what, std::string hint) {
    return fail({.where = line.where, .what = std::move(what), .why = "", .hint = std::move(hint)});
  };
  if (command.empty()) return refused("missing program", "write RANKS PROGRAM ARGUMENTS");
  if (list == "*") return "*) o=$SLURM_PROCID; exec" + command + " \"$@\";;\n";
  std::string branches;
  int offset = -1;
  for (const std::string& part : split(list, ',')) {  // %o counts in the order of the list
    const auto ranks = parse_int_list(part, kMaxRanks);
    if (!ranks) return refused("invalid rank list \"" + std::string(list) + "\": expected 0-3,5 or *", "");
    for (const int rank : *ranks) {
      ++offset;
      if (!taken.insert(rank).second) continue;  // the first line with this rank wins
      branches += std::to_string(rank) + ") o=" + std::to_string(offset) + "; exec" + command + " \"$@\";;\n";
    }
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
