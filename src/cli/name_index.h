// The names of a table of options, sorted at compile time: each start looks up about 200 names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/option_spec.h"

namespace dlaunch::cli {

/// Calls `visit` with each space-separated name.
template <class Visit>
constexpr void each_name(std::string_view names, Visit visit) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    visit(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

/// Finds a name among sorted names.
inline FoundOption find_in(std::span<const FoundOption> names, std::string_view name) {
  const auto found = std::ranges::lower_bound(names, name, {}, &FoundOption::name);
  return found != names.end() && found->name == name ? *found : FoundOption{};
}

template <const auto& Table>
consteval auto sorted_names() {
  constexpr size_t kCount = [] {
    size_t count = 0;
    for (const OptionSpec& spec : Table) each_name(spec.names, [&](std::string_view) { ++count; });
    return count;
  }();
  std::array<FoundOption, kCount> names;
  auto* next = names.begin();
  for (const OptionSpec& spec : Table) {
    each_name(spec.names,
              [&](std::string_view name) { *next++ = {&spec, name.substr(name.starts_with('!') ? 1 : 0)}; });
  }
  std::ranges::sort(names, {}, &FoundOption::name);
  return names;
}

}  // namespace dlaunch::cli
