// The job's options in effect, one ParsedOption for each row of the table, gathered from all sources.
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

  /// A later option overrides an earlier one; counts on the command line add up, and lists are joined.
  void add(const ParsedOption& given);

  /// Null when nobody set the option, or a flag was unset.
  const ParsedOption* find(std::string_view name) const;

  void drop(const ParsedOption& given);

  /// Calls set_job for each option in effect.
  Result<void> apply(Options& options, const ProcessContext& context) const;

  /// In the table's order, including unset ones.
  const std::vector<std::optional<ParsedOption>>& rows() const { return rows_; }

 private:
  std::vector<std::optional<ParsedOption>> rows_;  // one for each row of option_table()
};

/// Of two options that contradict each other, drops the one from the weaker source; from one source they are an Error.
Result<void> settle_contradictions(ResolvedOptions& effective);

/// --map-by's :OVERSUBSCRIBE means what --oversubscribe means: the stronger source wins, within one source --map-by.
void settle_oversubscribe(const ResolvedOptions& effective, Options& options);

/// Refuses options that were typed and would do nothing.
Result<void> check_effects(const ResolvedOptions& effective, Verb verb, Grammar grammar);

}  // namespace dlaunch::cli
