#include <algorithm>
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

/// Adds the branches of the shell's `case` for one line of the file.
Result<void> add_line(SrunPrograms& programs, string_view text, const std::string& where) {
  if (text.empty() || text.starts_with('#')) return {};
  const string_view list = text.substr(0, text.find_first_of(" \t"));
  const std::string command = shell_words(text.substr(list.size()));
  const auto refused = [&](std::string what, std::string hint) {
    return fail({.where = where, .what = std::move(what), .why = "", .hint = std::move(hint)});
  };
  if (command.empty()) return refused("missing program", "write RANKS PROGRAM ARGUMENTS");
  if (list == "*") {
    programs.others = true;
    return programs.branches += "*) o=$SLURM_PROCID; exec" + command + " \"$@\";;\n", Result<void>();
  }
  if (programs.others) return refused("invalid position", "put the line before the line with *");
  int offset = 0;
  for (const std::string& part : split(list, ',')) {  // %o counts in the order of the list
    const auto ranks = parse_int_list(part, kMaxRanks - 1);
    if (!ranks) return refused("invalid rank list \"" + std::string(list) + "\": expected 0-3,5 or *", "");
    for (const int rank : *ranks) {
      if (!programs.ranks.emplace(rank, where).second) {
        return refused("duplicate rank \"" + std::to_string(rank) + '"', "give each rank one line");
      }
      programs.branches +=
          std::to_string(rank) + ") o=" + std::to_string(offset++) + "; exec" + command + " \"$@\";;\n";
    }
  }
  return {};
}

}  // namespace

Result<SrunPrograms> read_srun_programs(const ProcessContext& context, const std::string& file) {
  const auto path = TRY(absolute_path(file, context.cwd));
  const auto text = context.read(path);
  if (!text) return fail(text.error().error);
  TRY(check_text(*text, file));
  SrunPrograms programs;
  std::string joined;
  std::string where;
  const auto lines = lines_of(*text, file);
  for (const TextLine& line : lines) {
    if (joined.empty()) where = line.where;
    joined += line.text;
    const bool continues = joined.ends_with('\\');
    if (continues) joined.pop_back();
    if (continues && &line != &lines.back()) continue;
    TRY(add_line(programs, trim(joined), where));
    joined.clear();
  }
  return programs;
}

Result<std::vector<std::string>> SrunPrograms::command(const std::vector<std::string>& words, int ranks_of_job) const {
  if (!ranks.empty() && ranks.rbegin()->first >= ranks_of_job) {
    const auto& [rank, where] = *ranks.rbegin();
    return fail({.where = where,
                 .what = "unknown rank \"" + std::to_string(rank) + '"',
                 .why = "the job has " + count(ranks_of_job, "rank"),
                 .hint = "set -n " + std::to_string(rank + 1)});
  }
  for (int rank = 0; !others && rank < ranks_of_job; ++rank) {
    if (ranks.contains(rank)) continue;
    return fail({.where = words.front(),
                 .what = "missing program of rank " + std::to_string(rank),
                 .why = "",
                 .hint = "add a line for the rank, or a last line with *"});
  }
  std::vector<std::string> argv = {"sh", "-c", "case $SLURM_PROCID in\n" + branches + "esac", "sh"};
  argv.insert(argv.end(), words.begin() + 1, words.end());
  return argv;
}

}  // namespace dlaunch::cli
