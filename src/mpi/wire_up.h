// The component of MPI: exchanges data between ranks (mpi/coordinators.h), and starts more ranks (mpi/spawner.h).
#pragma once

#include <memory>

#include "launcher/component.h"

namespace dlaunch::mpi {

std::unique_ptr<launcher::Component> make_wire_up(const launcher::Context& context);

}  // namespace dlaunch::mpi
