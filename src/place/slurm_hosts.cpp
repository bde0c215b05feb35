#include "place/slurm_hosts.h"

#include <algorithm>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"
#include "place/manager_list.h"
#include "place/slurm_gpus.h"
#include "place/slurm_tres.h"

namespace dlaunch::place {
namespace {

using Counts = std::vector<int>;

constexpr long kFirstSpecialStep =
    0xfffffff0;                    // batch, extern and interactive steps (slurm.h, SLURM_MAX_NORMAL_STEP_ID)
constexpr long kMostGroups = 128;  // of a heterogeneous job (slurm.h, MAX_HET_JOB_COMPS)

/// "2(x3),1" means 2, 2, 2, 1.
Result<Counts> expand_counts(std::string_view name, const std::string& text) {
  Counts counts;
  for (const std::string& part : split(text, ',')) {
    const size_t open = part.find("(x");
    long times = 1;
    if (open != std::string::npos) {
      const auto read = part.ends_with(')')
                            ? parse_int(part.substr(open + 2, part.size() - open - 3), 1, hosts::kMostHosts)
                            : std::nullopt;
      if (!read) return wrong_list(name, "invalid list of numbers \"" + text + "\"");
      times = *read;
    }
    const auto slots = parse_int(std::string_view(part).substr(0, open), 0, hosts::kMostSlots);
    if (!slots || counts.size() + static_cast<size_t>(times) > hosts::kMostHosts) {
      return wrong_list(name, "invalid list of numbers \"" + text + "\"");
    }
    counts.insert(counts.end(), static_cast<size_t>(times), static_cast<int>(*slots));
  }
  return counts;
}

Result<std::vector<std::string>> expand_node_list(std::string_view name, const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& part : hosts::split_outside_brackets(text, ',')) {
    auto names = hosts::expand_names(part);
    if (!names) return wrong_list(name, "invalid list", names.error().what);
    hosts.insert(hosts.end(), names->begin(), names->end());
    if (hosts.size() > hosts::kMostHosts)
      return wrong_list(name, "too many hosts: expected at most " + std::to_string(hosts::kMostHosts));
  }
  return hosts;
}

/// Whether srun started this process. The shells of salloc and sbatch run in special steps or outside steps.
bool is_in_step(const Environment& environment) {
  return parse_int(filled_variable(environment, "SLURM_STEP_ID").value_or(""), 0, kFirstSpecialStep - 1).has_value();
}

/// Whether variables of tasks describe a step. A rank of --env-for slurm without srun has no number of a step.
bool has_variables_of_step(const Environment& environment) {
  return is_in_step(environment) || (!filled_variable(environment, "SLURM_STEP_ID") &&
                                     filled_variable(environment, "SLURM_STEP_NUM_TASKS").has_value());
}

/// A group of a heterogeneous job ("_HET_GROUP_1"), or a plain job ("").
class Group {
 public:
  Group(const Environment& environment, std::string suffix) : environment_(environment), suffix_(std::move(suffix)) {}

  std::optional<std::string> filled(const std::string& name) const {
    return filled_variable(environment_, name + suffix_);
  }
  bool any(std::initializer_list<const char*> names) const {
    return std::ranges::any_of(names, [&](const char* name) { return filled(name).has_value(); });
  }
  /// One number per node; empty if the variable is not set.
  Result<Counts> counts(const std::string& name, size_t nodes) const {
    const auto text = filled(name);
    if (!text) return Counts{};
    auto counts = TRY(expand_counts(name + suffix_, *text));
    if (counts.size() == nodes) return counts;
    return wrong_list(name + suffix_,
                      "invalid list: " + count(counts.size(), "number") + " for " + count(nodes, "node"), *text);
  }
  Result<std::vector<std::string>> names() const;
  Result<Counts> cpus() const;
  bool has_gpus() const;
  Result<std::vector<hosts::HostEntry>> entries() const;

 private:
  struct Slots {
    std::string from;
    Counts slots = {};  // empty: dlaunch asks the nodes
    Counts most = {};   // number of ranks without oversubscription; empty: the slots
  };
  /// The tasks of each node from variables that srun does not change: in a step, SLURM_TASKS_PER_NODE and SLURM_NTASKS
  /// describe the step.
  Slots slots_of_job(const Counts& cpus) const;
  Result<Slots> slots(size_t nodes) const;

  const Environment& environment_;
  const std::string suffix_;
};

Group::Slots Group::slots_of_job(const Counts& cpus) const {
  const long each = parse_int(filled("SLURM_NTASKS_PER_NODE").value_or(""), 1, hosts::kMostSlots).value_or(0);
  const long cpus_of_task = parse_int(filled("SLURM_CPUS_PER_TASK").value_or(""), 1, hosts::kMostSlots).value_or(1);
  Slots found{each > 0 ? "SLURM_NTASKS_PER_NODE" : "SLURM_JOB_CPUS_PER_NODE"};
  for (const int count : cpus) {
    found.slots.push_back(static_cast<int>(each > 0 ? each : std::max(1L, count / cpus_of_task)));
  }
  return found;
}

bool Group::has_gpus() const {
  return std::ranges::any_of(kGpuVariables, [&](const char* name) { return filled(name).has_value(); }) ||
         tres_per_task_has_gpus(filled("SLURM_TRES_PER_TASK").value_or(""));
}

Result<Group::Slots> Group::slots(size_t nodes) const {
  auto cpus = TRY(counts("SLURM_JOB_CPUS_PER_NODE", nodes));
  const bool told_of_step = suffix_.empty() && has_variables_of_step(environment_) && !cpus.empty();
  Slots tasks = told_of_step ? slots_of_job(cpus) : Slots{"SLURM_TASKS_PER_NODE"};
  if (!told_of_step) tasks.slots = TRY(counts(tasks.from, nodes));
  if (std::ranges::any_of(tasks.slots, [](int count) { return count > 1; })) return tasks;
  if (has_gpus()) return Slots{"SLURM_JOB_NODELIST"};
  const bool asked = any({"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"});
  if (!tasks.slots.empty() && (asked || cpus.empty())) {
    tasks.most = std::move(cpus);
    return tasks;
  }
  if (!cpus.empty()) return Slots{"SLURM_JOB_CPUS_PER_NODE", std::move(cpus)};
  const auto text = filled("SLURM_CPUS_ON_NODE");
  const auto each = text ? parse_int(*text, 1, hosts::kMostSlots) : std::nullopt;
  if (each) return Slots{"SLURM_CPUS_ON_NODE", Counts(nodes, static_cast<int>(*each))};
  return wrong_list("Slurm", "unknown number of tasks per node", "SLURM_TASKS_PER_NODE is not set");
}

Result<std::vector<std::string>> Group::names() const {
  const std::string list = filled("SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
  return expand_node_list(list + suffix_, filled(list).value_or(""));
}

Result<std::vector<hosts::HostEntry>> Group::entries() const {
  const auto hosts = TRY(names());
  const auto given = TRY(slots(hosts.size()));
  std::vector<hosts::HostEntry> entries(hosts.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].name = hosts[i];
    entries[i].from = given.from + suffix_;
    if (!given.slots.empty()) entries[i].slots = given.slots[i];
    if (!given.most.empty()) entries[i].cpus = given.most[i];
  }
  return entries;
}

Result<Counts> Group::cpus() const {
  const auto hosts = TRY(names());
  return counts("SLURM_JOB_CPUS_PER_NODE", hosts.size());
}

bool is_plain(const Group& job) { return job.any({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}); }

Result<long> groups_of(const Group& job) {
  const std::string text = job.filled("SLURM_HET_SIZE").value_or("");
  if (const auto groups = parse_int(text, 1, kMostGroups)) return *groups;
  return wrong_list("SLURM_HET_SIZE",
                    "invalid number of groups \"" + text + "\": expected 1 to " + std::to_string(kMostGroups));
}

Group group_of(const Environment& environment, long number) {
  return {environment, "_HET_GROUP_" + std::to_string(number)};
}

}  // namespace

std::optional<std::string> slurm_job(const Environment& environment) {
  const Group job(environment, "");
  if (!job.any({"SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_HET_SIZE"})) return std::nullopt;
  return job.filled("SLURM_JOB_ID").value_or(job.filled("SLURM_JOBID").value_or(""));
}

Result<std::vector<int>> slurm_cpus(const Environment& environment) {
  const Group plain(environment, "");
  if (is_plain(plain)) return plain.cpus();
  const long groups = TRY(groups_of(plain));
  Counts all;
  for (long number = 0; number < groups; ++number) {
    const auto cpus = TRY(group_of(environment, number).cpus());
    if (cpus.empty()) return Counts{};
    all.insert(all.end(), cpus.begin(), cpus.end());
  }
  return all;
}

Result<std::vector<hosts::HostEntry>> read_slurm(const Environment& environment) {
  const Group plain(environment, "");
  if (is_plain(plain)) return plain.entries();
  const long groups = TRY(groups_of(plain));
  std::vector<hosts::HostEntry> all;
  for (long number = 0; number < groups; ++number) {
    auto entries = TRY(group_of(environment, number).entries());
    for (hosts::HostEntry& entry : entries) entry.reach.step = "--het-group=" + std::to_string(number);
    if (entries.empty()) return wrong_list("SLURM_JOB_NODELIST_HET_GROUP_" + std::to_string(number), "missing nodes");
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

namespace {

/// "gpu:a100:4(IDX:0-3),craynetwork:1" means 4.
std::optional<long> gpus_in(std::string_view gres) {
  long sum = 0;
  for (const std::string& part : split(gres, ',')) {  // also splits within (IDX:0,2-3)
    if (!part.starts_with("gpu:")) continue;
    const std::string_view counted = std::string_view(part).substr(0, part.find('('));
    const auto number = parse_int(counted.substr(counted.rfind(':') + 1), 0, hosts::kMostSlots);
    if (!number) return std::nullopt;
    sum += *number;
  }
  return sum;
}

}  // namespace

Result<std::map<std::string, int>> slurm_gpus(const std::string& shown) {
  constexpr const char* kCommand = "scontrol show job -d";
  std::map<std::string, int> gpus;
  for (const std::string& line : split(shown, '\n')) {
    const std::string_view words = trim(line);
    const size_t gres = words.find(" GRES=");
    if (!words.starts_with("Nodes=") || gres == std::string_view::npos) continue;
    const std::string nodes(words.substr(6, words.find(' ') - 6));
    const auto count = gpus_in(words.substr(gres + 6));
    if (!count) return wrong_list(kCommand, "invalid line", std::string(words));
    const auto names = TRY(expand_node_list(kCommand, nodes));
    for (const std::string& name : names) {
      if (*count > 0) gpus[name] = static_cast<int>(*count);
    }
  }
  return gpus;
}

int slurm_copies(const Environment& environment) {
  const Group job(environment, "");
  if (!is_in_step(environment)) return 1;
  return static_cast<int>(parse_int(job.filled("SLURM_STEP_NUM_TASKS").value_or(""), 1, hosts::kMostSlots).value_or(1));
}

}  // namespace dlaunch::place
