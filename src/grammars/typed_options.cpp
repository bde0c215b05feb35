#include "grammars/typed_options.h"

#include <string>

#include "cli/name_index.h"

namespace dlaunch::cli {

FoundOption find_known_option(std::string_view name) {
  const FoundOption found = find_option(name);
  return found.spec ? found : find_in(foreign_names(), name);
}

FoundOption find_typed_option(std::string_view name) {
  FoundOption found = find_known_option(name);
  if (!found.spec) found = find_in(familiar_names(), name);
  if (found.spec || name.find('_') == name.npos) return found;
  const std::string dashes = dashes_for_underscores(name);
  found = find_known_option(dashes);
  return found.spec ? found : find_in(familiar_names(), dashes);
}

}  // namespace dlaunch::cli
