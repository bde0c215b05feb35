// The table of managers: one row each, in the order of detection. Systems that start a command line on all nodes come
// first: they may run in a batch job. A Flux instance may also run in a batch job. Each includer defines MANAGER.
//
// MANAGER(row, job, passed, node)
//   row     The ManagerRow, in the file of the manager.
//   job     Variables of the job around dlaunch. On other hosts, the values of this process would be wrong.
//   passed  The same, but the manager's launcher passes the variables to its tasks.
//   node    Variables with different values on the nodes of the job. Ranks get the values of their own node.
// A name that ends in '*' stands for all names with this start.

MANAGER(kTorchrun, "PET_*", "", "")
MANAGER(kAwsBatch, "AWS_BATCH_*", "", "AWS_BATCH_JOB_NODE_INDEX")
MANAGER(kIndexedJob, "", "JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX")
MANAGER(kFlux, "FLUX_TASK_* FLUX_JOB_SIZE", "", "FLUX_URI")
MANAGER(kSlurm, "", "SLURM_* SLURMD_* SBATCH_* SALLOC_* SRUN_*",
        "SLURMD_* SLURM_TOPOLOGY_* SLURM_NODEID SLURM_CPUS_ON_NODE SLURM_GPUS_ON_NODE SLURM_JOB_GPUS SLURM_STEP_GPUS "
        "SLURM_SCRIPT_CONTEXT SLURM_TASK_PID CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL "
        "ZE_AFFINITY_MASK "
        // of the job or the step; missing in the shell of salloc
        "SLURM_JOB_UID SLURM_JOB_GID SLURM_JOB_USER SLURM_JOB_START_TIME SLURM_JOB_END_TIME SLURM_LAUNCH_NODE_IPADDR")
MANAGER(kGridEngine, "SGE_* NSLOTS NHOSTS NQUEUES PE_HOSTFILE", "", "SGE_* NSLOTS NHOSTS NQUEUES TMP")
MANAGER(kPbs, "PBS_* PALS_*", "", "PBS_JOBID PBS_JOBNAME PBS_NODENUM PBS_VNODENUM")
MANAGER(kCobalt, "COBALT_*", "", "")
MANAGER(kLsf, "LSB_*", "", "LSB_JOBID LSB_JOBINDEX LSB_BIND_CPU_LIST")
MANAGER(kMpiJob, "K_MPI_*", "", "")
