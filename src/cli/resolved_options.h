// The job's options in effect, from all sources: at most one ParsedOption per row of the table.
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

  /// A later option overrides an earlier option. Counts of one source are added, and lists of one source are joined.
  void add(const ParsedOption& given);

  /// Returns null if the option is not set, or if a flag is off.
  const ParsedOption* find(std::string_view name) const;

  void drop(const ParsedOption& given);

  /// Calls set_job for each option in effect.
  Result<void> apply(Options& options, const ProcessContext& context) const;

  /// All rows in the table's order; unset options are nullopt.
  const std::vector<std::optional<ParsedOption>>& rows() const { return rows_; }

 private:
  std::vector<std::optional<ParsedOption>> rows_;  // one element per row of option_table()
};

/// Resolves conflicts between options: drops the option of the weaker source. Returns an Error for two options of the
/// same source.
Result<void> settle_contradictions(ResolvedOptions& effective);

/// --map-by X:OVERSUBSCRIBE and --oversubscribe set the same value: the stronger source wins; for equal sources,
/// --map-by.
void settle_oversubscribe(const ResolvedOptions& effective, Options& options);

/// Returns an Error for a typed option without effect.
Result<void> check_effects(const ResolvedOptions& effective, Verb verb, Grammar grammar);

}  // namespace dlaunch::cli
