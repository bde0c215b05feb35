// Which of the nodes that run the same line this one is, as the place tells it that started the line everywhere. Pure.
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

namespace dlaunch::allocate {

struct NodePlace {
  std::optional<int> least = {};  ///< of the nodes; empty: all
  std::optional<int> nodes = {};
  std::optional<int> node = {};
  std::string rendezvous = {};  ///< HOST or HOST:PORT of node 0, as the other nodes know it; empty: not said
};

/// Nothing is filled in where no such place is seen. What is said and cannot be meant is an Error.
Result<NodePlace> place_of_node(const std::vector<std::string>& environment);

/// The Error of a process that is one of several nodes' by PET_* or AWS_BATCH_*, each of which would run the whole job.
/// A rank of a launcher there is none. Of an Indexed Job nothing says whether its pods are one job.
std::optional<Error> refuse_copy_on_node(const std::vector<std::string>& environment);

}  // namespace dlaunch::allocate
