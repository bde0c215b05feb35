// The promise Sentences: splits the printed text into lines, and checks each line with the table.
#include "promises/sentences.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "promises/sentence_table.h"

namespace sim {
namespace {

struct CompiledRow {
  const Row* row;
  std::unique_ptr<RE2> pattern;
};

constexpr int kMostGroups = 12;

const std::vector<CompiledRow>& table() {
  static const std::vector<CompiledRow> rows = [] {
    std::vector<CompiledRow> all;
    for (const auto* part :
         {&rows_of_causes(), &rows_of_consequences(), &rows_of_rounds(), &rows_of_agents(), &rows_not_simulated()}) {
      for (const Row& row : *part) all.push_back({&row, std::make_unique<RE2>(row.pattern)});
    }
    return all;
  }();
  return rows;
}

bool is_match(const CompiledRow& row, const std::string& sentence, Words& words) {
  words.assign(kMostGroups, {});
  std::vector<RE2::Arg> args(kMostGroups);
  std::vector<const RE2::Arg*> pointers(kMostGroups);
  for (size_t i = 0; i < kMostGroups; ++i) {
    args[i] = &words[i];
    pointers[i] = &args[i];
  }
  const int groups = std::min(row.pattern->NumberOfCapturingGroups(), kMostGroups);
  return RE2::FullMatchN(sentence, *row.pattern, pointers.data(), groups);
}

/// Hides what differs between worlds, so that reports can be counted.
std::string without_digits(std::string text) {
  RE2::GlobalReplace(&text, "[0-9]+", "#");
  return text;
}

}  // namespace

bool Said::has_line(const std::string& start) const {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(start); });
}

bool Said::calls_lost(int rank) const {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    std::string ranks;
    return RE2::FullMatch(line, R"(\d+ ranks? (?:was|were) lost: ranks? ([\d,/-]+))", &ranks) &&
           truth.told_ranks(ranks).contains(rank);
  });
}

bool Said::counts_lost() const {
  return std::ranges::any_of(lines, [](const std::string& line) {
    return line.find(" was lost: rank") != line.npos || line.find(" were lost: rank") != line.npos;
  });
}

std::string judge(const std::string& sentence, Said& said) {
  const Row* found = nullptr;
  Words words;
  Words its_words;
  for (const CompiledRow& row : table()) {
    if (!is_match(row, sentence, words)) continue;
    if (found) return std::string("sentence with two rows: ") + found->name + "; " + row.row->name;
    found = row.row;
    its_words = std::move(words);
  }
  if (!found) return "sentence without a row: " + without_digits(sentence);
  if (!found->check) return std::string("not simulated: ") + found->name + ": " + found->not_simulated;
  const std::string why = found->check(its_words, said);
  if (why.empty()) return {};
  return why.starts_with("sentence ") || why.starts_with("false: ")
             ? why
             : "false: \"" + std::string(found->name) + "\": " + why;
}

void Sentences::printed(std::string_view lines) {
  Said said{.truth = truth_};
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::string_view line = lines.substr(at, end - at);
    for (const std::string_view before : {"dlaunch: ", "note: "}) {
      if (line.starts_with(before)) line.remove_prefix(before.size());
    }
    said.lines.emplace_back(line);
    at = end + 1;
  }
  for (; said.at < said.lines.size(); ++said.at) {
    if (std::string why = judge(said.lines[said.at], said); !why.empty()) broke(std::move(why));
  }
}

/// Checks the sentences about a restart when the next round starts.
void Sentences::began(const Process& process) {
  if (process.kind != Process::Kind::rank || process.round == 0) return;
  // A frozen agent reads an earlier round's Spawn when it runs again; docs/restart-after-failure.md
  // describes this limit.
  if (truth_.met(process.host, {"freeze", "stopw"})) return;
  if (truth_.removed.contains(process.host)) broke("false: \"the job continues without\": the host gets ranks");
  for (const auto& [lost, taker] : truth_.takers) {
    if (lost == process.host) broke("false: \"takes the ranks of\": the replaced host gets ranks");
  }
  const bool spawned = process.rank >= truth_.world().ranks_at_start();
  const bool moved = !spawned && truth_.removed.empty() && truth_.host_of(process.rank) != process.host;
  if (moved) broke("false: \"takes the ranks of\": a rank starts on another host");
  truth_.round_began(process.round);
  const bool late_spawn = truth_.now() < truth_.round_start();  // by the agent of an earlier round
  if (late_spawn && !truth_.harmed(process.host)) broke("false: \"restart in S s\": a rank starts earlier");
}

/// Without an outcome, the job may have ended with an error before its announced round.
void Sentences::job_ended(const Facts& facts) {
  if (!facts.outcome && !truth_.announced_round_prepared()) broke("false: \"restart I of N\": no round follows");
  if (facts.outcome) missing(facts, *facts.outcome);
}

/// Sentences that the summary of the last round must have.
void Sentences::missing(const Facts& facts, const dlaunch::job::Outcome& outcome) {
  const auto& texts = facts.history.texts();
  if (outcome.cause == dlaunch::job::Cause::success || texts.empty()) return;
  if (outcome.cause == dlaunch::job::Cause::output_failed && outcome.detail.empty()) return;
  const std::string& summary = texts.back().lines;
  // The end, if it is noticeably later than the cause.
  const bool doubt = !outcome.leftovers.empty() || facts.history.was_printed("may still run on");
  const bool began = std::ranges::any_of(outcome.ranks, [](const auto& rank) { return rank.pid != 0; });
  constexpr std::chrono::milliseconds kNoticeable{1100};
  const bool late = outcome.ended_at && outcome.cause_at && *outcome.ended_at - *outcome.cause_at > kNoticeable;
  if (late && began && !doubt && !outcome.preempted && summary.find("all processes had ended after ") == summary.npos)
    broke("false: the summary lacks the time after which all processes had ended");
  // Each rank that failed.
  std::set<int> told;
  for (std::string_view left = summary; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    std::string ranks;
    if (!RE2::FullMatch(line, R"(.* failed (?:\(.*\)|in \d+ different ways): ranks? ([\d,/-]+))", &ranks)) continue;
    const auto named = truth_.told_ranks(ranks);
    told.insert(named.begin(), named.end());
  }
  for (size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const auto& record = outcome.ranks[rank];
    const bool failed = record.status && !record.status->ok() && !record.ended_by_us &&
                        !std::holds_alternative<dlaunch::Lost>(record.status->value());
    const bool is_cause = outcome.cause == dlaunch::job::Cause::rank_failed &&
                          (outcome.first_failure == static_cast<int>(rank) || record.pid == 0);
    if (failed && !is_cause && !told.contains(static_cast<int>(rank)))
      broke("false: the summary lacks a rank that failed");
  }
  // The hosts of earlier rounds on which processes may run.
  for (const auto& text : texts) {
    std::string folded;
    if (!RE2::PartialMatch(text.lines, R"(may still run on ([^;\n]+);)", &folded)) continue;
    for (const std::string& name : told_names(folded)) {
      std::string last;
      RE2::PartialMatch(summary, R"(may still run on ([^;\n]+);)", &last);
      const auto names = told_names(last);
      if (std::ranges::find(names, name) == names.end())
        broke("false: the summary lacks a host of an earlier round on which processes may run");
    }
  }
}

int print_sentences() {
  int not_simulated = 0;
  for (const CompiledRow& row : table()) {
    if (!row.pattern->ok()) {
      std::printf("INVALID %s: %s\n", row.row->name, row.pattern->error().c_str());
      return 1;
    }
    if (!row.row->check) ++not_simulated;
    std::printf("%s\t%s\t%s\n", row.row->check ? "checked" : "not simulated", row.row->pattern.c_str(),
                row.row->check ? "" : row.row->not_simulated);
  }
  std::printf("# %zu rows, %d not simulated\n", table().size(), not_simulated);
  return 0;
}

}  // namespace sim
