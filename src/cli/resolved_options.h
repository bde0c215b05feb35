// The job's options that hold, one Given a row of the table, gathered from all who may set them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/option_spec.h"

namespace dlaunch::cli {

class ResolvedOptions {
 public:
  ResolvedOptions();

  /// Later ones win over those before; counts on the command line add up, and lists join.
  void add(const ParsedOption& given);

  /// Null when nobody set it, or a flag was unset.
  const ParsedOption* find(std::string_view name) const;

  void drop(const ParsedOption& given);

  /// Calls set_job of each that holds.
  Result<void> apply(Options& options, const ProcessContext& surroundings) const;

  /// In the table's order; with the unset ones.
  const std::vector<std::optional<ParsedOption>>& rows() const { return rows_; }

 private:
  std::vector<std::optional<ParsedOption>> rows_;  // one a row of option_table()
};

/// Of two options that contradict, the one from the weaker source is dropped; from one source they are an
/// error.
Result<void> settle_contradictions(ResolvedOptions& effective);

/// --map-by's :OVERSUBSCRIBE says what --oversubscribe says: of two sources the stronger holds, of one --map-by.
void settle_oversubscribe(const ResolvedOptions& effective, Options& options);

/// Refuses what was typed and would do nothing.
Result<void> check_effects(const ResolvedOptions& effective, Verb verb, Grammar grammar);

}  // namespace dlaunch::cli
