#include "cli/option_spec.h"

#include <algorithm>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr size_t kLongestSlip = 40;  // a longer word is no slip of the hand

/// Calls `visit` with each space-separated name until it returns true.
template <class Visit>
bool any_name(string_view names, Visit visit) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (visit(names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

FoundOption find_in(std::span<const OptionSpec> table, string_view name) {
  for (const OptionSpec& spec : table) {
    if (const FoundOption found = find_name(spec, name); found.spec) return found;
  }
  return {};
}

std::optional<std::string> nearest_slip(string_view name, const std::vector<std::string>& known) {
  if (name.size() < 2 || name.size() > kLongestSlip) return std::nullopt;  // each letter is near to each other
  return nearest(name, known);
}

}  // namespace

FoundOption find_option(string_view name) {
  const FoundOption found = find_in(option_table(), name);
  return found.spec ? found : find_in(foreign_table(), name);
}

FoundOption find_name(const OptionSpec& spec, string_view name) {
  FoundOption found;
  const bool hit = any_name(spec.names, [&](string_view known) {
    found.name = known.substr(known.starts_with('!') ? 1 : 0);
    return found.name == name;
  });
  if (hit) found.spec = &spec;
  return found;
}

const OptionSpec& help_option() { return *find_option("help").spec; }

string_view why_refused(string_view name) {
  for (const RefusedOption& row : refused_table()) {
    if (any_name(row.names, [&](string_view known) { return known == name; })) return row.why;
  }
  return {};
}

std::string dashed(string_view name) { return (name.size() == 1 || name == "vv" ? "-" : "--") + std::string(name); }

std::string did_you_mean(string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if (spec.section == Section::hidden) continue;
    any_name(spec.names, [&](string_view word) {
      known.emplace_back(word.substr(word.starts_with('!') ? 1 : 0));
      return false;
    });
  }
  for (const RefusedOption& row : refused_table()) {
    any_name(row.names, [&](string_view word) {
      if (word.size() > 3) known.emplace_back(word);
      return false;
    });
  }
  const auto near = nearest_slip(name, known);
  return near ? "did you mean " + dashed(*near) + "?" : "";
}

std::optional<std::string> nearest_preference(string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if (spec.preference && spec.section != Section::hidden) known.emplace_back(spec.name());
  }
  return nearest_slip(name, known);
}

}  // namespace dlaunch::cli
