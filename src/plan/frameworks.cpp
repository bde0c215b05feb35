#include "plan/frameworks.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_set>

#include "base/digest.h"
#include "base/environment.h"
#include "base/index_cast.h"
#include "base/printable.h"
#include "base/text.h"
#include "place/variables.h"
#include "plan/environment.h"
#include "plan/framework_table.h"

namespace dlaunch::plan {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
// below the ephemeral ports of Linux (from 32768), and below torchrun's 29400 and 29500
constexpr int kFirstPort = 20000;
constexpr int kPorts = 9400;
constexpr size_t kMostListed = 1024;           // ranks of a host in a list, of which each rank has a copy
constexpr size_t kLongestEntry = 128U << 10U;  // execve(2), MAX_ARG_STRLEN

struct Harmful {
  Framework one;
  Framework other;
  std::string_view why;
};

constexpr std::string_view kTwoLibraries = "a program cannot choose between the variables of two libraries";
constexpr std::string_view kNoMpi = "Horovod would use MPI, which is not available with these variables";

constexpr Harmful kHarmful[] = {
    {Framework::openmpi, Framework::mpich, kTwoLibraries},
    {Framework::mindspore, Framework::mindspore_dynamic, "both choose how MindSpore's ranks connect"},
    {Framework::mindspore_dynamic, Framework::openmpi, "MindSpore would set RANK_ID to OMPI_COMM_WORLD_RANK"},
    {Framework::mindspore, Framework::openmpi, "MindSpore would set DEVICE_ID to OMPI_COMM_WORLD_LOCAL_RANK"},
    {Framework::horovod, Framework::openmpi, kNoMpi},
    {Framework::horovod, Framework::mpich, kNoMpi},
    {Framework::jax, Framework::slurm, "JAX would read coordinator and devices from Slurm's variables"},
};

constexpr std::string_view kOneThread =
    "each rank has OMP_NUM_THREADS=1, as with torchrun; set OMP_NUM_THREADS to change the value";

/// The meaning of --env-for auto: frameworks that ignore the variables of the others, without extra cost.
constexpr Framework kAuto[] = {Framework::torch, Framework::deepspeed, Framework::jax, Framework::mindspore};

/// Frameworks that use the local rank not only as device number, so that the local rank cannot be 0 for all ranks.
constexpr Framework kNeedAllDevices[] = {Framework::mindspore_dynamic, Framework::horovod, Framework::openmpi,
                                         Framework::mpich};

std::uint64_t fnv1a(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

bool any(const Plan& plan, bool FrameworkSpec::* flag) {
  return std::ranges::any_of(plan.frameworks, [&](Framework framework) { return spec_of(framework).*flag; });
}

const PlannedHost& first_host(const Plan& plan) { return plan.host(plan.ranks.front().host); }

bool names_ports_of_ranks(const Plan& plan) {
  return std::ranges::find(plan.frameworks, Framework::tensorflow) != plan.frameworks.end();
}

/// An address with its port; IPv6 needs brackets.
std::string with_port(const std::string& address, const std::string& port) {
  const bool ipv6 = address.find(':') != std::string::npos;
  return (ipv6 ? "[" + address + "]" : address) + ":" + port;
}

/// Reads the values for the table's rows from the plan.
class Facts {
 public:
  Facts(const Plan& plan, const Rendezvous& rendezvous) : plan_(plan), rendezvous_(rendezvous) {
    order_hosts();
    count_local_ranks();
  }

  FrameworkJob job() const {
    const PlannedHost& first = first_host(plan_);
    FrameworkJob job{.size = static_cast<int>(plan_.ranks.size()), .hosts = static_cast<int>(plan_.hosts.size())};
    job.slots = std::accumulate(plan_.hosts.begin(), plan_.hosts.end(), 0, [](int sum, const PlannedHost& planned) {
      return sum + std::max(planned.host.slots, static_cast<int>(planned.ranks.size()));
    });
    for (const PlannedHost& planned : plan_.hosts) {
      job.most_local = std::max(job.most_local, static_cast<int>(planned.ranks.size()));
    }
    job.id = plan_.job_id;
    job.round = plan_.round;
    job.restarts = plan_.restarts;
    job.address = address(first);
    job.master_port = port(first, Port::master);
    job.jax_address = with_port(job.address, port(first, Port::jax));
    job.horovod_port = port(first, Port::horovod);
    job.scheduler_port = port(first, Port::scheduler);
    job.number = slurm_job();
    if (any(plan_, &FrameworkSpec::names_all_hosts)) {
      job.addresses = addresses();
      job.ranks_of_hosts = ranks_of_hosts();
      job.order = order();
    }
    if (names_ports_of_ranks(plan_)) job.workers = workers();
    return job;
  }

  FrameworkRank rank(const Rank& rank) const {
    const PlannedHost& host = plan_.host_of(rank);
    FrameworkRank facts{
        .rank = rank.rank, .local_rank = rank.local_rank, .local_size = static_cast<int>(host.ranks.size())};
    facts.host = at_index(place_of_host_, rank.host);
    facts.device_index = plan_.visible == Visible::rank ? 0 : rank.local_rank;
    facts.cross_rank = at_index(cross_rank_, rank.rank);
    facts.cross_size = at_index(cross_size_, rank.local_rank);
    facts.host_name = host.host.name;
    facts.host_ranks = at_index(ranks_of_host_, rank.host);
    facts.ordinal = rank.ordinal;
    return facts;
  }

 private:
  void order_hosts() {
    std::vector<size_t> order(plan_.hosts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](size_t host) { return plan_.hosts[host].ranks.front(); });
    place_of_host_.resize(order.size());
    for (size_t place = 0; place < order.size(); ++place) place_of_host_[order[place]] = static_cast<int>(place);
    hosts_ = std::move(order);
  }

  void count_local_ranks() {
    cross_rank_.resize(plan_.ranks.size());
    ranks_of_host_.resize(plan_.hosts.size());
    for (const size_t host : hosts_) {
      const std::vector<int>& ranks = plan_.hosts[host].ranks;
      for (size_t i = 0; ranks.size() <= kMostListed && i < ranks.size(); ++i) {
        ranks_of_host_[host].append(i == 0 ? "" : ",").append(std::to_string(ranks[i]));
      }
      if (cross_size_.size() < ranks.size()) cross_size_.resize(ranks.size());
      for (size_t local = 0; local < ranks.size(); ++local) {
        cross_rank_[static_cast<size_t>(ranks[local])] = cross_size_[local]++;
      }
    }
  }

  std::string address(const PlannedHost& planned) const {
    if (plan_.hosts.size() == 1) return kLoopback;
    return planned.host.local && !rendezvous_.here.empty() ? rendezvous_.here : known_by(planned.host);
  }

  std::string port(const PlannedHost& planned, Port which, int local_rank = 0) const {
    const int index = static_cast<int>(which) + local_rank;
    const auto held = static_cast<size_t>(index);
    const bool here = planned.host.local && held < rendezvous_.ports.size();
    return std::to_string(here ? rendezvous_.ports[held] : unseen_port(plan_.job_id, index, plan_.round));
  }

  std::string addresses() const {
    std::string list;
    for (const size_t host : hosts_) list.append(list.empty() ? "" : ",").append(address(plan_.hosts[host]));
    return list;
  }

  /// As in Slurm: "2(x3),1" means 2, 2, 2, 1.
  std::string ranks_of_hosts() const {
    std::string list;
    for (size_t i = 0; i < hosts_.size();) {
      const size_t number = plan_.hosts[hosts_[i]].ranks.size();
      size_t same = 1;
      while (i + same < hosts_.size() && plan_.hosts[hosts_[i + same]].ranks.size() == number) ++same;
      list.append(list.empty() ? "" : ",").append(std::to_string(number));
      if (same > 1) list.append("(x").append(std::to_string(same)).append(")");
      i += same;
    }
    return list;
  }

  /// srun calls one rank per host cyclic.
  std::string_view order() const {
    const auto host = [&](const Rank& rank) { return at_index(place_of_host_, rank.host); };
    if (plan_.ranks.size() > plan_.hosts.size() && std::ranges::is_sorted(plan_.ranks, {}, host)) return "block";
    const auto turn = [&](const Rank& rank) { return std::pair(rank.local_rank, host(rank)); };
    return std::ranges::is_sorted(plan_.ranks, {}, turn) ? "cyclic" : "";
  }

  /// The Slurm job around dlaunch, for squeue, requeue and steps of ranks. Else a number above MAX_JOB_ID of slurm.h,
  /// so that scancel with this number never ends a job.
  std::string slurm_job() const {
    constexpr std::uint64_t kAboveAllJobs = 100'000'000;
    constexpr std::uint64_t kNumbers = 900'000'000;
    if (auto job = filled_variable(plan_.apps.front().env, place::kSlurmJob)) return *std::move(job);
    const bool in_slurm = plan_.manager && plan_.manager->name == place::kSlurmName;
    return in_slurm && !plan_.manager->job.empty() ? plan_.manager->job
                                                   : std::to_string(fnv1a(plan_.job_id) % kNumbers + kAboveAllJobs);
  }

  std::string workers() const {
    std::string list;
    for (const Rank& rank : plan_.ranks) {
      const PlannedHost& host = plan_.host_of(rank);
      if (!list.empty()) list += ',';
      list += with_port(address(host), port(host, Port::first_of_ranks, rank.local_rank));
    }
    return list;
  }

  const Plan& plan_;
  const Rendezvous& rendezvous_;
  std::vector<size_t> hosts_;       // in the order of their first rank
  std::vector<int> place_of_host_;  // index in hosts_
  std::vector<int> cross_rank_;     // of each rank
  std::vector<int> cross_size_;     // of each local rank
  std::vector<std::string> ranks_of_host_;
};

/// Entries replace entries of the same name, except for names set by -x.
void add(std::vector<std::string>& environment, const std::vector<std::string>& chosen,
         const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) set_variable(environment, chosen, entry);
}

/// Adds the entries with new names, and returns these names.
std::vector<std::string> add_unset(std::vector<std::string>& environment, const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  for (const std::string& entry : entries) {
    const std::string_view name = variable_name(entry);
    if (variable(environment, name)) continue;
    environment.push_back(entry);
    names.emplace_back(name);
  }
  return names;
}

/// Removes inherited variables that each rank has for itself, except those set by -x.
void forget(std::vector<App>& apps, const std::vector<std::string>& entries) {
  std::unordered_set<std::string_view> own;
  for (const std::string& entry : entries) own.insert(variable_name(entry));
  for (App& app : apps) {
    for (std::vector<std::string>* environment : {&app.env, &app.env_elsewhere}) {
      std::erase_if(*environment, [&](const std::string& entry) {
        const std::string_view name = variable_name(entry);
        return own.contains(name) && std::ranges::find(app.chosen, name) == app.chosen.end();
      });
    }
  }
}

std::optional<Error> refuse_too_long(const std::vector<std::string>& entries) {
  const auto longest = std::ranges::max_element(entries, {}, &std::string::size);
  if (longest == entries.end() || longest->size() < kLongestEntry) return std::nullopt;
  return Error{.where = "--env-for",
               .what = "variable " + std::string(variable_name(*longest)) +
                       " too long: " + std::to_string(longest->size()) + " bytes",
               .why = "Linux allows at most " + std::to_string(kLongestEntry) + " bytes per variable",
               .hint = "start fewer ranks, or use shorter host names"};
}

void add_sidecar(Plan& plan) {
  const auto wants = [](Framework framework) { return !spec_of(framework).sidecar.empty(); };
  const auto framework = std::ranges::find_if(plan.frameworks, wants);
  if (framework == plan.frameworks.end()) return;
  const Rank& first = plan.ranks.front();
  const std::vector<std::string>& chosen = plan.app_of(first).chosen;
  Sidecar sidecar{.name = std::string(spec_of(*framework).sidecar),
                  .app = first.app,
                  .host = first.host,
                  .env = {},
                  .dir = first.dir,
                  .argv = {spec_of(*framework).server.begin(), spec_of(*framework).server.end()},
                  .serves = !spec_of(*framework).server.empty()};
  constexpr std::string_view kTaken[] = {"DLAUNCH_JOB_ID", "PWD"};  // the sidecar gets these variables of rank 0
  for (const std::string& entry : first.env) {
    if (std::ranges::find(kTaken, variable_name(entry)) != std::end(kTaken)) sidecar.env.push_back(entry);
  }
  Entries own;
  spec_of(*framework).beside(own);
  add(sidecar.env, chosen, own.list());
  plan.sidecar = std::move(sidecar);
}

}  // namespace

std::string_view to_string(Framework framework) { return spec_of(framework).name; }

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const FrameworkSpec& spec : framework_table()) names.emplace_back(spec.name);
  names.emplace_back("auto");
  return names;
}

Result<std::vector<Framework>> parse_frameworks(std::string_view text) {
  const auto known = framework_names();
  std::vector<Framework> frameworks;
  const auto is_new = [&](Framework framework) { return std::ranges::find(frameworks, framework) == frameworks.end(); };
  for (const std::string& part : split(text, ',')) {
    const std::string_view name = trim(part);
    if (name == "auto") {
      std::ranges::copy_if(kAuto, std::back_inserter(frameworks), is_new);
      continue;
    }
    const auto found = std::ranges::find(framework_table(), name, &FrameworkSpec::name);
    if (found == framework_table().end()) {
      std::string list;
      for (const std::string& word : known) list += (list.empty() ? "" : ", ") + word;
      const auto near = nearest(name, known);
      return fail({.where = "",
                   .what = "unknown framework \"" + escaped(name) + "\"",
                   .why = "",
                   .hint = near ? "use " + *near : "use one or more of " + list});
    }
    if (is_new(found->framework)) frameworks.push_back(found->framework);
  }
  return frameworks;
}

std::optional<Error> refuse_combination(const std::vector<Framework>& frameworks, Visible visible) {
  const auto wanted = [&](Framework framework) { return std::ranges::find(frameworks, framework) != frameworks.end(); };
  for (const Harmful& row : kHarmful) {
    if (!wanted(row.one) || !wanted(row.other)) continue;
    return Error{
        .where = "",
        .what = "--env-for " + std::string(to_string(row.one)) + " conflicts with " + std::string(to_string(row.other)),
        .why = std::string(row.why),
        .hint = "remove one of them"};
  }
  if (visible != Visible::rank) return std::nullopt;
  for (const Framework framework : kNeedAllDevices) {
    if (!wanted(framework)) continue;
    return Error{.where = "",
                 .what = "--env-for " + std::string(to_string(framework)) + " conflicts with --visible rank",
                 .why = "programs use the local rank as device number, but each rank would see only device 0",
                 .hint = "use --visible host"};
  }
  return std::nullopt;
}

bool needs_address(const Plan& plan) {
  if (plan.hosts.size() == 1) return false;
  if (any(plan, &FrameworkSpec::rendezvous) && first_host(plan).host.local) return true;
  return any(plan, &FrameworkSpec::names_all_hosts) &&
         std::ranges::any_of(plan.hosts, [](const PlannedHost& planned) { return planned.host.local; });
}

int ports_needed(const Plan& plan) {
  const auto here = std::ranges::find_if(plan.hosts, [](const PlannedHost& planned) { return planned.host.local; });
  if (here == plan.hosts.end()) return 0;
  const int fixed = static_cast<int>(Port::first_of_ranks);
  if (names_ports_of_ranks(plan)) return fixed + static_cast<int>(here->ranks.size());
  return any(plan, &FrameworkSpec::rendezvous) && first_host(plan).host.local ? fixed : 0;
}

int unseen_port(std::string_view job_id, int index, int round) {
  const std::string of_round = round == 0 ? std::string() : '.' + std::to_string(round);
  return kFirstPort +
         static_cast<int>((fnv1a(std::string(job_id) + of_round) + static_cast<std::uint64_t>(index)) % kPorts);
}

Result<Plan> with_frameworks(Plan plan, const Rendezvous& rendezvous) {
  if (plan.frameworks.empty()) return plan;
  const Facts facts(plan, rendezvous);
  const FrameworkJob job = facts.job();
  Entries shared;
  for (const Framework framework : plan.frameworks) spec_of(framework).shared(job, shared);
  if (auto error = refuse_too_long(shared.list())) return fail(*std::move(error));
  for (App& app : plan.apps) {
    add(app.env, app.chosen, shared.list());
    if (!app.env_elsewhere.empty()) add(app.env_elsewhere, app.chosen, shared.list());
    const auto set = add_unset(app.env, shared.defaults());
    if (!app.env_elsewhere.empty()) add_unset(app.env_elsewhere, shared.defaults());
    const bool threads = std::ranges::find(set, "OMP_NUM_THREADS") != set.end();
    if (threads && std::ranges::find(plan.notes, kOneThread) == plan.notes.end()) plan.notes.emplace_back(kOneThread);
  }
  for (Rank& rank : plan.ranks) {
    Entries own;
    const FrameworkRank mine = facts.rank(rank);
    for (const Framework framework : plan.frameworks) spec_of(framework).own(job, mine, own);
    if (auto error = refuse_too_long(own.list())) return fail(*std::move(error));
    if (&rank == &plan.ranks.front()) forget(plan.apps, own.list());
    add(rank.env, plan.app_of(rank).chosen, own.list());
  }
  add_sidecar(plan);
  if (auto error = refuse_own_names(plan)) return fail(*std::move(error));
  return plan;
}

}  // namespace dlaunch::plan
