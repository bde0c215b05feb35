// Finds the number of this node among the nodes with the same command line, from the variables of the system that
// started them. Pure.
//
//   torchrun, Kubeflow Trainer  PET_NNODES, PET_NODE_RANK; PET_RDZV_ENDPOINT, or PET_MASTER_ADDR and PET_MASTER_PORT
//   AWS Batch, multi-node       AWS_BATCH_JOB_NUM_NODES, …_NODE_INDEX, …_MAIN_NODE_INDEX; the main node's address is
//                               told to the others alone
//   Kubernetes, Indexed Job     JOB_COMPLETION_INDEX; nothing says how many nodes there are, nor where the first is
//   Slurm, one task a node      SLURM_PROCID, SLURM_STEP_NUM_TASKS, the first of SLURM_STEP_NODELIST
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::place {

struct NodePlace {
  std::optional<int> least = {};  ///< number of nodes; empty: all
  std::optional<int> nodes = {};
  std::optional<int> node = {};
  std::string rendezvous = {};  ///< HOST or HOST:PORT of node 0 for the other nodes; empty: not given
};

/// Returns empty fields outside such a system. Contradictory values are an Error.
Result<NodePlace> place_of_node(const std::vector<std::string>& environment);

/// The Error for a process that is one of several nodes according to PET_* or AWS_BATCH_*: each copy would run the
/// whole job. nullopt for a rank of a launcher there. Indexed Jobs are not checked: no variable shows if their pods
/// form one job.
std::optional<Error> refuse_copy_on_node(const std::vector<std::string>& environment);

}  // namespace dlaunch::place
