#include "cli/resolved_options.h"

#include <algorithm>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

size_t index_of(const OptionSpec* spec) { return static_cast<size_t>(spec - option_table().data()); }

}  // namespace

ResolvedOptions::ResolvedOptions() : rows_(option_table().size()) {}

void ResolvedOptions::add(const ParsedOption& given) {
  std::optional<ParsedOption>& row = rows_[index_of(given.spec)];
  const bool adds = given.spec->takes == Arity::count && row && row->source == given.source;
  const long before = adds ? parse_int(row->value, 0, 9).value_or(0) : 0;
  const std::string joined = given.spec->joins && row && row->source == given.source ? row->value + "," : "";
  row = given;
  row->value.insert(0, joined);
  if (given.spec->takes == Arity::maybe_value && given.value == "false") row.reset();
  if (adds) row->value = std::to_string(std::min(9L, before + parse_int(given.value, 0, 9).value_or(0)));
}

const ParsedOption* ResolvedOptions::find(std::string_view name) const {
  const FoundOption found = find_option(name);
  const std::optional<ParsedOption>& row = rows_[index_of(found.spec)];
  const bool flag_off = row && row->spec->takes == Arity::nothing && row->value != "true";
  return row && !flag_off ? &*row : nullptr;
}

void ResolvedOptions::drop(const ParsedOption& given) { rows_[index_of(given.spec)].reset(); }

Result<void> ResolvedOptions::apply(Options& options, const ProcessContext& context) const {
  for (const std::optional<ParsedOption>& row : rows_) {
    if (!row || !row->spec->set_job) continue;
    auto set = row->spec->set_job(options, row->value, context);
    if (!set) {
      Error error = set.error();
      if (error.where.empty()) error.where = row->spelled;
      return fail(std::move(error));
    }
  }
  return {};
}

}  // namespace dlaunch::cli
