// Detects an MPIJob of Kubernetes in the launcher's pod. Supported: Kubeflow's MPI operator (v1 and v2beta1) and the
// MPI runtime of its Trainer. An MPI library's variable has the path of a mounted hostfile with the workers' pods.
// Pure.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

struct MpiJob {
  std::string hostfile;      ///< path of the hostfile
  std::string from;          ///< the variable with this path
  std::string kubexec = {};  ///< v1: the path of the script; empty: ssh
};

/// nullopt elsewhere, such as in a worker's pod.
std::optional<MpiJob> mpi_job(const std::vector<std::string>& environment);

/// Converts the command of `script` (kubexec.sh) to the form of --exec: with {host} for the pod, and with the stdin
/// (-i) that the script omits. Empty if the script does not start kubectl in the operator's form.
std::string kubectl_command(std::string_view script);

}  // namespace dlaunch::place
