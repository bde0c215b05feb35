#include "place/incomplete_batch_job.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "place/manager_list.h"

namespace dlaunch::place {
namespace {

using Texts = std::vector<std::string>;

/// Variables that together show that this process is in a batch job, and the variable of the missing list of hosts.
struct JobSign {
  std::string_view manager;
  std::string_view number;                 ///< the variable with the job's number
  std::string_view other_number;           ///< an older name of the variable, or empty
  std::array<std::string_view, 3> proofs;  ///< one of these must also be set; empty: the number is enough
  std::string_view list;
};

constexpr std::array<JobSign, 4> kSigns = {
    {{.manager = "Slurm",
      .number = "SLURM_JOB_ID",
      .other_number = "SLURM_JOBID",
      .proofs = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE"},
      .list = "SLURM_JOB_NODELIST"},
     {.manager = "PBS",
      .number = "PBS_JOBID",
      .other_number = {},
      .proofs = {"PBS_ENVIRONMENT"},
      .list = "PBS_NODEFILE"},
     {.manager = "Cobalt", .number = "COBALT_JOBID", .other_number = {}, .proofs = {}, .list = "COBALT_NODEFILE"},
     {.manager = "LSF", .number = "LSB_JOBID", .other_number = {}, .proofs = {}, .list = "LSB_MCPU_HOSTS"}}};

bool is_set(const Texts& environment, std::string_view name) {
  return !name.empty() && filled_variable(environment, name).has_value();
}

std::optional<Error> unlisted(const Texts& environment, const JobSign& sign) {
  const std::string_view number = is_set(environment, sign.number) ? sign.number : sign.other_number;
  if (!is_set(environment, number)) return std::nullopt;
  const bool enough = sign.proofs.front().empty();
  const auto* const proof =
      std::ranges::find_if(sign.proofs, [&](std::string_view name) { return is_set(environment, name); });
  if (!enough && proof == sign.proofs.end()) return std::nullopt;
  const std::string signs = enough ? " shows" : " and " + std::string(*proof) + " show";
  return wrong_list(sign.list, "not set",
                    std::string(number) + signs + " a job of " + std::string(sign.manager) + " but no host list")
      .value();
}

std::optional<Error> unlisted_grid_engine(const Texts& environment) {
  const bool listed = is_set(environment, "PE_HOSTFILE");
  if (listed && !is_set(environment, "SGE_ROOT")) {
    return wrong_list(
               "SGE_ROOT", "not set",
               "PE_HOSTFILE shows a job of Grid Engine, and dlaunch finds Grid Engine's programs through SGE_ROOT")
        .value();
  }
  if (listed || !is_set(environment, "SGE_ROOT") || !is_set(environment, "JOB_ID")) return std::nullopt;
  const auto hosts = parse_int(filled_variable(environment, "NHOSTS").value_or(""), 2, hosts::kMostSlots);
  if (!hosts) return std::nullopt;
  return wrong_list("PE_HOSTFILE", "not set",
                    "JOB_ID and NHOSTS=" + std::to_string(*hosts) + " show a job of Grid Engine but no host list")
      .value();
}

}  // namespace

std::optional<Error> refuse_incomplete_batch_job(const Texts& environment) {
  if (is_set(environment, "DLAUNCH_RANK")) return std::nullopt;
  for (const JobSign& sign : kSigns) {
    if (auto error = unlisted(environment, sign)) return error;
  }
  return unlisted_grid_engine(environment);
}

}  // namespace dlaunch::place
