#include "grammars/launchers.h"

#include <algorithm>

#include "grammars/accelerate/accelerate.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

constexpr Grammar kWithTable[] = {Grammar::torchrun,  Grammar::torch_launch, Grammar::srun, Grammar::accelerate,
                                  Grammar::deepspeed, Grammar::horovodrun,   Grammar::msrun};

/// The row of `name`, typed with one dash or two. '_' matches '-'.
const LauncherOption* row_of(const LauncherSpec& launcher, std::string_view name) {
  const std::string dashes = dashes_for_underscores(name);
  const auto found = std::ranges::find_if(launcher.options, [&](const LauncherOption& option) {
    return find_name(option.row, dashes).spec || find_name(option.row, '-' + dashes).spec;
  });
  return found == launcher.options.end() ? nullptr : &*found;
}

}  // namespace

const LauncherSpec* launcher_of(Grammar grammar) {
  switch (grammar) {
    case Grammar::torchrun:
      return &torchrun_launcher();
    case Grammar::torch_launch:
      return &torch_launch_launcher();
    case Grammar::msrun:
      return &msrun_launcher();
    case Grammar::deepspeed:
      return &deepspeed_launcher();
    case Grammar::horovodrun:
      return &horovodrun_launcher();
    case Grammar::srun:
      return &srun_launcher();
    case Grammar::accelerate:
      return &accelerate_launcher();
    case Grammar::accelerate_launch:
      return &accelerate_launch_launcher();
    case Grammar::dlaunch:
    case Grammar::open_mpi:
    case Grammar::hydra:
      break;
  }
  return nullptr;
}

std::optional<Error> option_of_launchers(const std::string& spelled, std::string_view name) {
  const LauncherOption* best = nullptr;  // with the most support
  const LauncherOption* last = nullptr;
  std::string lines;
  for (const Grammar grammar : kWithTable) {
    const LauncherSpec& launcher = *launcher_of(grammar);
    const LauncherOption* const option = row_of(launcher, name);
    if (!option || option == last) continue;  // torch.distributed.launch has the rows of torchrun
    last = option;
    if (!best || option->support < best->support) best = option;
    if (option->support == Support::refused) continue;
    lines += (lines.empty() ? "run dlaunch --as " : " or dlaunch --as ") + std::string(launcher.name) + " …";
  }
  if (!best) return std::nullopt;
  if (best->support == Support::translated)
    return Error{.where = "", .what = "unknown option \"" + spelled + '"', .why = "", .hint = std::move(lines)};
  const std::string remove = best->support == Support::refused ? "" : "remove the option";
  return Error{.where = spelled,
               .what = "not supported",
               .why = std::string(best->row.help),
               .hint = best->support == Support::ignored ? remove + ", or " + lines : remove};
}

std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher) {
  std::vector<ParsedOption> defaults;
  const std::string name(launcher.name);
  for (const auto& [option, value] : launcher.defaults) {
    defaults.push_back({.spec = find_option(option).spec,
                        .value = std::string(value),
                        .spelled = name,
                        .origin = name,
                        .source = Source::personality});
  }
  return defaults;
}

}  // namespace dlaunch::cli
