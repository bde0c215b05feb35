#include "grammars/launchers.h"

#include "grammars/accelerate/accelerate.h"
#include "grammars/deepspeed/deepspeed.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/msrun/msrun.h"
#include "grammars/srun/srun.h"
#include "grammars/torchrun/torchrun.h"

namespace dlaunch::cli {

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
