#include "place/resource_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "place/grid_engine.h"
#include "place/lsf.h"
#include "place/manager_list.h"
#include "place/mpijob.h"
#include "place/slurm.h"

namespace dlaunch::place {
namespace {

using Entries = std::vector<hosts::HostEntry>;
using Environment = std::vector<std::string>;
using Kind = plan::Manager::Kind;

/// One name per slot, or "name:slots"; names may repeat, also with other names between.
Result<Entries> node_file(const std::string& variable, const Environment& environment,
                          const hosts::ReadText& read_file) {
  const std::string text = TRY(read_named_file(variable, environment, read_file));
  std::vector<ListedHost> hosts;
  for (const std::string& word : blank_separated(text)) {
    const size_t colon = word.find(':');
    const auto slots =
        colon == word.npos ? 1 : parse_int(std::string_view(word).substr(colon + 1), 0, hosts::kMostSlots);
    if (!slots) return wrong_list(variable, "invalid entry \"" + word + '"');
    hosts.push_back({word.substr(0, colon), static_cast<int>(*slots)});
  }
  Entries entries = TRY(listed_entries(hosts, variable));
  for (size_t i = 0; i < entries.size(); ++i) entries[i].reach.step = "-n " + std::to_string(i);  // pbsdsh's number
  return entries;
}

/// Adds the devices of Torque's PBS_GPUFILE (one line "HOST-gpuN" per device of the job) to the first entry of each
/// host. An empty or missing file is ignored: the variable is also set in jobs without GPUs. Any other unreadable file
/// is an Error.
Result<Entries> with_gpus(Entries entries, const Environment& environment, const hosts::ReadText& read_file) {
  constexpr const char* kVariable = "PBS_GPUFILE";
  constexpr std::string_view kMark = "-gpu";
  const auto file = filled_variable(environment, kVariable);
  const auto text = file ? read_file(*file) : std::string();
  const bool missing = !text && text.error().why == std::strerror(ENOENT);
  if (!text && !missing) return wrong_list(kVariable, "cannot read " + *file, text.error().why);
  const std::vector<std::string> words = blank_separated(text ? *text : "");
  if (words.empty()) return entries;
  std::map<std::string, hosts::HostEntry*, std::less<>> hosts;
  for (hosts::HostEntry& entry : entries) {
    const bool is_first = hosts.emplace(entry.name, &entry).second;
    if (is_first) entry.devices.emplace();
  }
  for (const std::string_view word : words) {
    const size_t mark = word.rfind(kMark);
    const auto device =
        mark == word.npos ? std::nullopt : parse_int(word.substr(mark + kMark.size()), 0, hosts::kMostSlots);
    const auto host = hosts.find(word.substr(0, mark));
    if (!device) return wrong_list(kVariable, "invalid entry \"" + escaped(word) + '"');
    if (host == hosts.end())
      return wrong_list(kVariable, "unknown host in \"" + escaped(word) + "\": not in PBS_NODEFILE");
    host->second->devices->push_back(static_cast<int>(*device));
  }
  for (const auto& [name, entry] : hosts) std::ranges::sort(*entry->devices);
  return entries;
}

Result<Entries> kubernetes(const MpiJob& job, const hosts::ReadText& read_file) {
  const auto text = read_file(job.hostfile);
  if (!text) return wrong_list(job.from, "cannot read " + job.hostfile, text.error().why);
  return hosts::parse_hostfile(*text, job.hostfile);
}

/// The number of tasks in the `flux run` job around this process.
int flux_copies(const Environment& environment) {
  if (!filled_variable(environment, "FLUX_TASK_RANK")) return 1;
  return static_cast<int>(
      parse_int(filled_variable(environment, "FLUX_JOB_SIZE").value_or(""), 1, hosts::kMostSlots).value_or(1));
}

}  // namespace

std::optional<plan::Manager> manager_of(const Environment& environment) {
  if (filled_variable(environment, "FLUX_URI") &&
      (!filled_variable(environment, "FLUX_TASK_RANK") || flux_copies(environment) > 1)) {
    return plan::Manager{Kind::flux, ""};
  }
  if (const auto job = slurm_job(environment)) return plan::Manager{Kind::slurm, *job};
  if (const auto job = grid_engine_job(environment)) return plan::Manager{Kind::grid_engine, *job};
  if (filled_variable(environment, "PBS_NODEFILE")) {
    return plan::Manager{Kind::pbs, filled_variable(environment, "PBS_JOBID").value_or("")};
  }
  if (filled_variable(environment, "COBALT_NODEFILE")) {
    return plan::Manager{Kind::cobalt, filled_variable(environment, "COBALT_JOBID").value_or("")};
  }
  if (const auto job = lsf_job(environment)) return plan::Manager{Kind::lsf, *job};
  if (mpi_job(environment)) return plan::Manager{Kind::kubernetes, ""};
  return std::nullopt;
}

Result<Entries> read_resource_manager(const plan::Manager& manager, const Environment& environment,
                                      const hosts::ReadText& read_file) {
  switch (manager.kind) {
    case Kind::slurm:
      return read_slurm(environment);
    case Kind::grid_engine:
      return read_grid_engine(environment, read_file);
    case Kind::pbs: {
      Entries entries = TRY(node_file("PBS_NODEFILE", environment, read_file));
      return with_gpus(std::move(entries), environment, read_file);
    }
    case Kind::cobalt:
      return node_file("COBALT_NODEFILE", environment, read_file);
    case Kind::lsf:
      return read_lsf(environment, read_file);
    case Kind::kubernetes:
      if (const auto job = mpi_job(environment)) return kubernetes(*job, read_file);
      break;
    case Kind::flux:
      return wrong_list("FLUX_URI", "dlaunch has not read the hosts of this Flux instance");
  }
  return Entries{};
}

bool starts_here_too(Kind kind) { return kind == Kind::slurm || kind == Kind::kubernetes; }

std::optional<Error> refuse_copies(const plan::Manager& manager, const Environment& environment) {
  const bool in_flux = manager.kind == Kind::flux;
  const int copies = in_flux ? flux_copies(environment) : manager.kind == Kind::slurm ? slurm_copies(environment) : 1;
  if (copies == 1) return std::nullopt;
  const std::string by = in_flux ? "flux run" : "srun";
  return Error{
      .where = plan::to_string(manager),
      .what = by + " started " + std::to_string(copies) + " copies of dlaunch: each copy would run the whole job",
      .why = "",
      .hint = "start dlaunch without " + by + ", or with " + by +
              " -n 1; add --same-line to run one job with all copies, or "
              "--ignore-resource-manager to run one job per copy"};
}

}  // namespace dlaunch::place
