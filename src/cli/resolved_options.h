// The job's options in effect, from all sources: one ParsedOption per row of the option table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
#include "cli/option_spec.h"

namespace dlaunch::cli {

class ResolvedOptions {
 public:
  ResolvedOptions();

  /// A later option overrides an earlier option. Counts of one source are added, and lists of one source are joined.
  void add(const ParsedOption& given);

  /// Null if no source set the option, or if a flag was unset.
  const ParsedOption* find(std::string_view name) const;

  void drop(const ParsedOption& given);

  /// Calls set_job for each option in effect.
  Result<void> apply(Options& options, const ProcessContext& context) const;

  /// All rows in the table's order; unset options are nullopt.
  const std::vector<std::optional<ParsedOption>>& rows() const { return rows_; }

 private:
  std::vector<std::optional<ParsedOption>> rows_;  // one per row of option_table()
};

/// An option, or one value of an option, in a rule about options.
struct Operand {
  std::string_view name;
  std::string_view value = {};  ///< empty: any value; for --map-by the unit
};

/// Parses NAME or NAME=VALUE; `word` must outlive the result.
Operand operand_in(std::string_view word);
/// Returns the option in effect if its value matches, else null.
const ParsedOption* holds(const ResolvedOptions& effective, Operand operand);
/// The option as typed, with the value of the operand.
std::string describe(const ParsedOption& given, Operand operand);

/// If two options conflict, keeps the option whose source has the higher priority. Two options from one source are an
/// Error.
Result<void> settle_contradictions(ResolvedOptions& effective);

/// :OVERSUBSCRIBE of --map-by equals --oversubscribe: the source with the higher priority wins; within one source,
/// --map-by wins.
void settle_oversubscribe(const ResolvedOptions& effective, Options& options);

/// Rejects options on the command line without an effect, and invalid templates of the preferences.
Result<void> check_effects(const ResolvedOptions& effective, const output::OutputSettings& output, Verb verb,
                           Grammar grammar);

/// Rejects "%r" and "$RANK_ID" in templates of a line in dlaunch's grammar. Call before the translation of options from
/// other launchers: a translated value may contain "%r" as plain text.
Result<void> check_typed_templates(const std::vector<ParsedOption>& options);

}  // namespace dlaunch::cli
