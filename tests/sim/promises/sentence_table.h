// The table of all sentences that dlaunch prints in a job: patterns and checks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "promises/truth.h"

namespace sim {

/// The lines that dlaunch printed together, and what the earlier lines of them say.
struct Said {
  Truth& truth;
  std::vector<std::string> lines;       ///< without "dlaunch: " and "note: "
  size_t at = 0;                        ///< index of the current line
  Ns base = 0;                          ///< the time from which the line of the cause counts
  int first_failure = -1;               ///< the rank in the line of the cause
  int named = 1;                        ///< the number of ranks in the line of the cause
  std::string cause = {};               ///< the name of the row of the cause
  std::vector<std::string> hosts = {};  ///< hosts of the commands that follow

  bool has_line(const std::string& start) const;
  /// Whether a line has the number of lost ranks.
  bool counts_lost() const;
  /// Whether a line "N ranks were lost" names the rank.
  bool calls_lost(int rank) const;
};

/// The texts that the groups of a pattern matched.
using Words = std::vector<std::string>;
/// Returns the reason why the sentence is false; empty: the sentence is true.
using Check = std::string (*)(const Words& words, Said& said);

struct Row {
  const char* name;                     ///< for reports; equal in all worlds
  std::string pattern;                  ///< RE2, of the whole line
  Check check;                          ///< nullptr: not simulated
  const char* not_simulated = nullptr;  ///< the reason; a world that prints such a sentence breaks the promise
};

const std::vector<Row>& rows_of_causes();
const std::vector<Row>& rows_of_consequences();
const std::vector<Row>& rows_of_rounds();
const std::vector<Row>& rows_of_agents();
const std::vector<Row>& rows_not_simulated();

/// Judges one sentence by the table. Empty: true.
std::string judge(const std::string& sentence, Said& said);
/// Judges the reason why a host is lost. `since`: the time of the loss, if known.
std::string judge_loss(const std::string& why, int host, std::optional<Told> loss, Said& said);
/// Judges the end of a rank in words such as "exited with code 3".
std::string judge_end(const std::string& how, const Process& process);

}  // namespace sim
