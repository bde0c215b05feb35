// The table of managers. A new system adds its file and its name here.
#include <array>

#include "place/manager_row.h"

namespace dlaunch::place {

namespace {

/// Systems that start a command line on all nodes come first: they may run in a batch job. A Flux instance may also run
/// in a batch job.
constexpr std::array<const ManagerRow*, 10> kManagers = {&kTorchrun,   &kAwsBatch, &kIndexedJob, &kFlux, &kSlurm,
                                                         &kGridEngine, &kPbs,      &kCobalt,     &kLsf,  &kMpiJob};

}  // namespace

std::span<const ManagerRow* const> managers() { return kManagers; }

}  // namespace dlaunch::place
