// An MPIJob of Kubernetes (Kubeflow's MPI operator, v1 and v2beta1, and the MPI runtime of its Trainer) as the
// launcher's pod sees it: a mounted hostfile of the workers' pods, named by the variable of an MPI library. PURE.
//
//   v1       OMPI_MCA_plm_rsh_agent names a script kubexec.sh, in which `kubectl exec` reaches a pod; no sshd there
//   v2beta1  K_MPI_JOB_ROLE=launcher; pods are reached by ssh, and may come up after the launcher
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::allocate {

struct MpiJob {
  std::string hostfile;      ///< its path
  std::string from;          ///< the variable that names it
  std::string kubexec = {};  ///< v1: the path of the script; empty: ssh
};

/// None elsewhere, as in a worker's pod.
std::optional<MpiJob> mpi_job(const std::vector<std::string>& environment);

/// The command of `script`, a kubexec.sh, as --exec takes it: with {host} for the pod and with the stdin (-i) that the
/// script leaves out. Empty: it starts no kubectl in the form of the operator.
std::string kubectl_command(std::string_view script);

}  // namespace dlaunch::allocate
