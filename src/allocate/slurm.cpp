#include "allocate/slurm.h"

#include <algorithm>
#include <array>

#include "allocate/host_name.h"
#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::allocate {
namespace {

using Environment = std::vector<std::string>;
using Counts = std::vector<int>;

constexpr long kFirstSpecialStep =
    0xfffffff0;                    // batch, extern and interactive steps (slurm.h, SLURM_MAX_NORMAL_STEP_ID)
constexpr long kMostGroups = 128;  // of a heterogeneous job (slurm.h, MAX_HET_JOB_COMPS)

tl::unexpected<Error> wrong_slurm(std::string_view where, std::string what, std::string why = {}) {
  return fail({.where = std::string(where),
               .what = std::move(what),
               .why = std::move(why),
               .hint = "name the hosts with -H or --hostfile, or add --ignore-resource-manager"});
}

/// "2(x3),1" is 2, 2, 2, 1.
Result<Counts> expand_counts(std::string_view name, const std::string& text) {
  Counts counts;
  for (const std::string& part : split(text, ',')) {
    const size_t open = part.find("(x");
    long times = 1;
    if (open != std::string::npos) {
      const auto read =
          part.ends_with(')') ? parse_int(part.substr(open + 2, part.size() - open - 3), 1, kMostHosts) : std::nullopt;
      if (!read) return wrong_slurm(name, "cannot be understood: \"" + text + "\"");
      times = *read;
    }
    const auto slots = parse_int(std::string_view(part).substr(0, open), 0, kMostSlots);
    if (!slots || counts.size() + static_cast<size_t>(times) > kMostHosts) {
      return wrong_slurm(name, "cannot be understood: \"" + text + "\"");
    }
    counts.insert(counts.end(), static_cast<size_t>(times), static_cast<int>(*slots));
  }
  return counts;
}

Result<std::vector<std::string>> expand_node_list(std::string_view name, const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& part : split_outside_brackets(text, ',')) {
    auto names = expand_names(part);
    if (!names) return wrong_slurm(name, "cannot be understood", names.error().what);
    hosts.insert(hosts.end(), names->begin(), names->end());
    if (hosts.size() > kMostHosts) return wrong_slurm(name, "more than " + std::to_string(kMostHosts) + " hosts");
  }
  return hosts;
}

/// Of one group of a heterogeneous job, "_HET_GROUP_1", or of a plain job, "".
class Group {
 public:
  Group(const Environment& environment, std::string suffix) : environment_(environment), suffix_(std::move(suffix)) {}

  std::optional<std::string> filled(const std::string& name) const {
    return filled_variable(environment_, name + suffix_);
  }
  bool any(std::initializer_list<const char*> names) const {
    return std::ranges::any_of(names, [&](const char* name) { return filled(name).has_value(); });
  }
  /// A number a node; none where the variable is not set.
  Result<Counts> counts(const std::string& name, size_t nodes) const {
    const auto text = filled(name);
    if (!text) return Counts{};
    auto counts = TRY(expand_counts(name + suffix_, *text));
    if (counts.size() == nodes) return counts;
    return wrong_slurm(name + suffix_,
                       "has " + std::to_string(counts.size()) + " numbers for " + std::to_string(nodes) + " nodes",
                       *text);
  }
  Result<std::vector<HostEntry>> entries() const;

 private:
  struct Slots {
    std::string from;
    Counts slots = {};  // empty: the nodes are asked
    Counts most = {};   // ranks that are no oversubscription; empty: the slots
  };
  Result<Slots> slots(size_t nodes) const;

  const Environment& environment_;
  const std::string suffix_;
};

Result<Group::Slots> Group::slots(size_t nodes) const {
  const auto tasks = TRY(counts("SLURM_TASKS_PER_NODE", nodes));
  auto cpus = TRY(counts("SLURM_JOB_CPUS_PER_NODE", nodes));
  if (std::ranges::any_of(tasks, [](int count) { return count > 1; })) return Slots{"SLURM_TASKS_PER_NODE", tasks};
  if (any({"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS",
           "SLURM_GPUS_PER_TASK"})) {
    return Slots{"SLURM_JOB_NODELIST"};
  }
  const bool asked = any({"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"});
  if (!tasks.empty() && (asked || cpus.empty())) return Slots{"SLURM_TASKS_PER_NODE", tasks, std::move(cpus)};
  if (!cpus.empty()) return Slots{"SLURM_JOB_CPUS_PER_NODE", std::move(cpus)};
  const auto text = filled("SLURM_CPUS_ON_NODE");
  const auto each = text ? parse_int(*text, 1, kMostSlots) : std::nullopt;
  if (each) return Slots{"SLURM_CPUS_ON_NODE", Counts(nodes, static_cast<int>(*each))};
  return wrong_slurm("Slurm", "does not say how many tasks a node has", "SLURM_TASKS_PER_NODE is not set");
}

Result<std::vector<HostEntry>> Group::entries() const {
  const std::string list = filled("SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
  const auto names = TRY(expand_node_list(list + suffix_, filled(list).value_or("")));
  const auto given = TRY(slots(names.size()));
  std::vector<HostEntry> entries(names.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].name = names[i];
    entries[i].from = given.from + suffix_;
    if (!given.slots.empty()) entries[i].slots = given.slots[i];
    if (!given.most.empty()) entries[i].cpus = given.most[i];
  }
  return entries;
}

}  // namespace

std::optional<std::string> slurm_job(const Environment& environment) {
  const Group job(environment, "");
  if (!job.any({"SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_HET_SIZE"})) return std::nullopt;
  return job.filled("SLURM_JOB_ID").value_or(job.filled("SLURM_JOBID").value_or(""));
}

Result<std::vector<HostEntry>> read_slurm(const Environment& environment) {
  const Group plain(environment, "");
  if (plain.any({"SLURM_JOB_NODELIST", "SLURM_NODELIST"})) return plain.entries();
  const auto groups = parse_int(plain.filled("SLURM_HET_SIZE").value_or(""), 1, kMostGroups);
  if (!groups) return wrong_slurm("SLURM_HET_SIZE", "cannot be understood");
  std::vector<HostEntry> all;
  for (long number = 0; number < *groups; ++number) {
    const auto entries = TRY(Group(environment, "_HET_GROUP_" + std::to_string(number)).entries());
    if (entries.empty()) return wrong_slurm("SLURM_JOB_NODELIST_HET_GROUP_" + std::to_string(number), "names no node");
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

int slurm_copies(const Environment& environment) {
  const Group job(environment, "");
  const auto step = parse_int(job.filled("SLURM_STEP_ID").value_or(""), 0, kFirstSpecialStep - 1);
  if (!step) return 1;
  return static_cast<int>(parse_int(job.filled("SLURM_STEP_NUM_TASKS").value_or(""), 1, kMostSlots).value_or(1));
}

}  // namespace dlaunch::allocate
