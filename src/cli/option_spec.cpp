#include "cli/option_spec.h"

#include "base/text.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr size_t kLongestSlip = 40;  // a longer word is not a typing error
constexpr size_t kShortestStart = 3;
constexpr int kMostFullNames = 3;

std::optional<std::string> nearest_slip(string_view name, const std::vector<std::string>& known) {
  if (name.size() < 2 || name.size() > kLongestSlip) return std::nullopt;  // all single letters are similar
  return nearest(name, known);
}

/// "use --hang-after" for "hang": the names that begin with `start`. Empty for no name or too many names.
std::string full_names(string_view start, const std::vector<std::string>& known) {
  std::string text;
  int count = 0;
  for (const std::string& word : known) {
    if (word.starts_with(start)) text += (++count == 1 ? "use " : " or ") + dashed(word);
  }
  return start.size() < kShortestStart || count > kMostFullNames ? "" : text;
}

}  // namespace

FoundOption find_option(string_view name) { return find_in(option_names(), name); }

FoundOption find_name(const OptionSpec& spec, string_view name) {
  FoundOption found;
  each_name(spec.names, [&](string_view known) {
    if (known == name) found = {&spec, known};
  });
  return found;
}

std::string dashes_for_underscores(string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

const OptionSpec& help_option() { return *find_option("help").spec; }

const RefusedOption* refused_option(string_view name) {
  const std::string dashes = dashes_for_underscores(name);
  const RefusedOption* found = nullptr;
  for (const RefusedOption& row : refused_table()) {
    each_name(row.names, [&](string_view known) {
      if (known == name || known == dashes) found = &row;
    });
  }
  return found;
}

std::string dashed(string_view name) { return (name.size() == 1 || name == "vv" ? "-" : "--") + std::string(name); }

std::string did_you_mean(string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if (spec.section == Section::hidden) continue;
    each_name(spec.names, [&](string_view word) { known.emplace_back(word.substr(word.starts_with('!') ? 1 : 0)); });
  }
  const auto add_long = [&](string_view word) {
    if (word.size() > 3) known.emplace_back(word);
  };
  for (const OptionSpec& row : familiar_table()) each_name(row.names, add_long);
  if (const std::string full = full_names(name, known); !full.empty()) return full;
  const auto near = nearest_slip(name, known);
  return near ? "use " + dashed(*near) : "";
}

std::optional<std::string> nearest_preference(string_view name, bool of_variables) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if ((spec.preference || (of_variables && spec.by_variable)) && spec.section != Section::hidden)
      known.emplace_back(spec.name());
  }
  return nearest_slip(name, known);
}

}  // namespace dlaunch::cli
