#include <algorithm>
#include <numeric>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"
#include "hosts/host_name.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

struct SrunNode {
  std::string name;
  int cpus = 0;  ///< CPUs of the job on this node; 0: unknown
};

/// Parses "4" or "1k" (1024).
Result<int> node_count(const ParsedOption& given, string_view text) {
  constexpr long kKilo = 1024;
  const long times = text.ends_with('k') || text.ends_with('K') ? kKilo : 1;
  if (times > 1) text.remove_suffix(1);
  const auto number = parse_int(text, 1, kMaxRanks / times);
  if (number) return static_cast<int>(*number * times);
  return refuse_value(given, "number of nodes", "N or MIN-MAX");
}

class SrunLayout {
 public:
  SrunLayout(LauncherJob& job, int least) : job_(job), line_(job.line()), least_ranks_(least) {}

  Result<int> add() {
    TRY(read_numbers());
    TRY(read_distribution());
    add_variables();
    if (slurm_job(job_)) {
      TRY(read_nodes());
      TRY(choose_nodes());
      TRY(count_ranks());
      TRY(check_cpus());
      drop_unused();
      TRY(add_options());
    } else {
      TRY(without_job());
    }
    return ranks_;
  }

 private:
  const std::vector<std::string>& environment() const { return job_.context().environment; }

  /// -n, or its variable. A typed -N and any --ntasks-per-node override the variable.
  const ParsedOption* ranks_given() const {
    const bool overridden = line_.typed("nodes") && line_.find("ntasks-per-node") && !line_.typed("ntasks");
    return overridden ? nullptr : line_.find("ntasks");
  }

  Result<void> read_numbers() {
    if (const ParsedOption* given = ranks_given()) ranks_ = TRY(number_of(*given, 1, kMaxRanks));
    if (const ParsedOption* given = line_.find("ntasks-per-node")) each_ = TRY(number_of(*given, 1, kMaxRanks));
    if (const ParsedOption* given = line_.find("cpus-per-task")) cpus_each_ = TRY(number_of(*given, 1, kMaxRanks));
    const ParsedOption* nodes = line_.find("nodes");
    if (!nodes) return {};
    const size_t dash = nodes->value.find('-');
    least_nodes_ = TRY(node_count(*nodes, string_view(nodes->value).substr(0, dash)));
    most_nodes_ = least_nodes_;
    if (dash != std::string::npos) most_nodes_ = TRY(node_count(*nodes, string_view(nodes->value).substr(dash + 1)));
    if (least_nodes_ <= most_nodes_) return {};
    return refuse_value(*nodes, "range of nodes", "MIN-MAX with MIN not above MAX");
  }

  /// Variables of srun's options, for steps that a rank starts. --env-for slurm sets those of the order of ranks.
  void add_variables() {
    const ParsedOption* each = line_.find("ntasks-per-node");
    if (line_.typed("ntasks-per-node")) job_.add_variable(*each, "SLURM_NTASKS_PER_NODE", std::to_string(each_));
    const ParsedOption* given = line_.find("distribution");
    const std::string how = given ? lower_case(given->value) : "";
    if (plane_ > 0) {
      job_.add_variable(*given, "SLURM_DISTRIBUTION", "plane");
      job_.add_variable(*given, "SLURM_DIST_PLANESIZE", std::to_string(plane_));
    } else if (how.find_first_of(":,") != std::string::npos || packed_) {
      job_.add_variable(*given, "SLURM_DISTRIBUTION",
                        how.starts_with('*') ? "block" + how.substr(1)
                        : how == "pack"      ? "block,pack"
                                             : how);
    }
  }

  /// The order of ranks on nodes. The levels for sockets and cores are only checked.
  Result<void> read_distribution() {
    constexpr const char* kHostFile = "SLURM_HOSTFILE";  // overrides any -m
    if (filled_variable(environment(), kHostFile) && !line_.find("nodelist") && !line_.find("nodefile")) {
      ParsedOption file = job_.itself();
      file.spelled = kHostFile;
      return not_arbitrary(file);
    }
    const ParsedOption* given = line_.find("distribution");
    if (!given) return {};
    const auto parts = split(lower_case(given->value), ',');
    const auto levels = split(parts.front(), ':');
    std::vector<std::string> words(parts.begin() + 1, parts.end());
    const std::string& first = levels.front();
    if (first.starts_with("plane")) {
      const auto size = first.starts_with("plane=")
                            ? first.substr(6)
                            : filled_variable(environment(), "SLURM_DIST_PLANESIZE").value_or("");
      const auto number = parse_int(size, 1, kMaxRanks);
      if (!number) return refuse_value(*given, "distribution", "plane=N");
      plane_ = static_cast<int>(*number);
    } else if (first == "arbitrary") {
      return not_arbitrary(*given);
    } else if (first == "pack" || first == "nopack") {
      words.push_back(first);
    } else if (first == "cyclic") {
      cyclic_ = true;
    } else if (first != "block" && first != "*") {
      return unknown_distribution(*given);
    }
    for (const std::string& word : words) {
      if (word != "pack" && word != "nopack") return unknown_distribution(*given);
      packed_ = word == "pack";
    }
    for (size_t i = 1; i < levels.size(); ++i) {
      constexpr string_view kKnown[] = {"*", "block", "cyclic", "fcyclic"};
      if (i > 2 || std::ranges::find(kKnown, levels[i]) == std::end(kKnown)) return unknown_distribution(*given);
    }
    return {};
  }

  static tl::unexpected<Error> not_arbitrary(const ParsedOption& given) {
    return refuse_option(given, "not supported: arbitrary distribution", "",
                         "use dlaunch -H LIST --map-by seq, or --rankfile FILE, to place each rank");
  }

  static tl::unexpected<Error> unknown_distribution(const ParsedOption& given) {
    return refuse_value(given, "distribution", "block, cyclic or plane=N, then optionally :block, :cyclic or :fcyclic");
  }

  /// Outside a Slurm job: ranks on this machine only.
  Result<void> without_job() {
    for (const char* name : {"nodelist", "nodefile", "exclude", "relative", "het-group"}) {
      if (const ParsedOption* given = line_.find(name)) return no_nodes(*given);
    }
    if (least_nodes_ > 1) return no_nodes(*line_.find("nodes"));
    const ParsedOption* given = ranks_given() ? ranks_given() : line_.find("ntasks-per-node");
    if (ranks_ == 0) ranks_ = each_ > 0 ? each_ : std::max(least_ranks_, 1);
    job_.add(given ? *given : job_.itself(), "n", std::to_string(ranks_));
    return {};
  }

  static tl::unexpected<Error> no_nodes(const ParsedOption& given) {
    return refuse_without(given, "a Slurm job", "",
                          "run srun inside salloc or sbatch, or use dlaunch -H node1,node2 -N RANKS PROGRAM");
  }

  Result<void> read_nodes() {
    const place::ManagerJob& around = *slurm_job(job_);
    const auto entries = TRY(around.hosts());
    const auto cpus = TRY(around.cpus);
    std::string group = "--het-group=0";
    if (const ParsedOption* given = line_.find("het-group")) {
      const int number = TRY(number_of(*given, 0, kMaxRanks));
      group = "--het-group=" + std::to_string(number);
      if (entries.front().reach.step.empty() && number > 0) {
        return refuse_option(*given, "requires a heterogeneous job", "", "remove the option");
      }
    }
    all_ = entries.size();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].reach.step.empty() && entries[i].reach.step != group) continue;
      nodes_.push_back({entries[i].name, i < cpus.size() ? cpus[i] : 0});
    }
    if (!nodes_.empty()) return {};
    return refuse_option(*line_.find("het-group"), "unknown group \"" + line_.value("het-group") + "\"", "",
                         "use the number of a group, from 0");
  }

  /// Applies -N, -w, -x and -r by srun's rules. The nodes keep the order of the job.
  Result<void> choose_nodes() {
    TRY(drop_excluded());
    TRY(drop_before());
    wanted_ = TRY(named("nodelist", "nodefile"));
    size_t most = most_nodes_ > 0 ? static_cast<size_t>(most_nodes_) : nodes_.size();
    if (ranks_ > 0) most = std::min(most, static_cast<size_t>(ranks_));
    most = std::max(most, wanted_.size());
    const size_t least = std::min(static_cast<size_t>(line_.typed("nodes") ? least_nodes_ : 1), most);
    if (least > nodes_.size()) {
      return refuse_option(*line_.find("nodes"), "not enough nodes", std::to_string(nodes_.size()) + " available",
                           "use fewer nodes, or give the job more in salloc or sbatch");
    }
    std::vector<bool> taken(nodes_.size(), false);
    size_t count = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      taken[i] = is_wanted(nodes_[i]);
      if (taken[i]) ++count;
    }
    if (count < wanted_.size()) return not_in_job();
    std::vector<SrunNode> chosen;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!taken[i] && count < most) taken[i] = true, ++count;
      if (taken[i]) chosen.push_back(nodes_[i]);
    }
    nodes_ = std::move(chosen);
    return {};
  }

  /// Whether -w or -F names the node.
  bool is_wanted(const SrunNode& node) const { return std::ranges::find(wanted_, node.name) != wanted_.end(); }

  Result<void> not_in_job() {
    const ParsedOption& given = line_.find("nodelist") ? *line_.find("nodelist") : *line_.find("nodefile");
    const auto missing = std::ranges::find_if(wanted_, [&](const std::string& name) {
      return std::ranges::find(nodes_, name, &SrunNode::name) == nodes_.end();
    });
    const auto excluded = TRY(named("exclude", ""));
    if (std::ranges::find(excluded, *missing) != excluded.end()) {
      return refuse_conflict(given, line_.find("exclude")->spelled, "both name " + *missing,
                             "remove the node from one of them");
    }
    return refuse_option(given, "unknown node \"" + *missing + "\"", "",
                         "run squeue -j $SLURM_JOB_ID -o %N for the nodes of the job");
  }

  Result<void> drop_excluded() {
    const auto excluded = TRY(named("exclude", ""));
    std::erase_if(nodes_,
                  [&](const SrunNode& node) { return std::ranges::find(excluded, node.name) != excluded.end(); });
    if (!nodes_.empty()) return {};
    return refuse_option(*line_.find("exclude"), "all nodes are excluded", "", "remove nodes from the list");
  }

  Result<void> drop_before() {
    const ParsedOption* given = line_.find("relative");
    if (!given) return {};
    for (const char* name : {"nodelist", "nodefile", "exclude"}) {
      const ParsedOption* other = line_.find(name);
      if (other) return refuse_conflict(*given, other->spelled, "both choose the nodes", "remove one of them");
    }
    const int first = TRY(number_of(*given, 0, static_cast<int>(nodes_.size()) - 1));
    nodes_.erase(nodes_.begin(), nodes_.begin() + first);
    return {};
  }

  /// The nodes of a list, or of a file (`file_option`, or a value with a slash).
  Result<std::vector<std::string>> named(string_view option, string_view file_option) {
    const ParsedOption* given = line_.find(option);
    const bool by_option = given == nullptr && !file_option.empty();
    if (by_option) given = line_.find(file_option);
    std::vector<std::string> names;
    if (!given) return names;
    std::string text = given->value;
    if (by_option || text.find('/') != std::string::npos) {
      const auto path = TRY(absolute_path(text, job_.context().cwd));
      auto read = job_.context().read(path);
      if (!read) return fail(read.error().error);
      text = *std::move(read);
      std::ranges::replace(text, '\n', ',');
    }
    for (const std::string& part : hosts::split_outside_brackets(text, ',')) {
      string_view name = trim(part);
      const size_t star = name.find('*');  // "n2*2" is n2,n2
      if (star != name.npos && parse_int(name.substr(star + 1), 1, kMaxRanks)) name = name.substr(0, star);
      if (name.empty()) continue;
      const auto expanded = hosts::expand_names(name);
      if (!expanded) return refuse_value(*given, "node list", "node[1-3],node5, or a file name with a slash");
      for (const std::string& each : *expanded) {
        if (std::ranges::find(names, each) == names.end()) names.push_back(each);
      }
    }
    return names;
  }

  int most_ranks_on(const SrunNode& node) const { return node.cpus / std::max(cpus_each_, 1); }

  long most_ranks() const {
    return std::accumulate(nodes_.begin(), nodes_.end(), 0L,
                           [&](long sum, const SrunNode& node) { return sum + most_ranks_on(node); });
  }

  bool cpus_known() const {
    return std::ranges::all_of(nodes_, [](const SrunNode& node) { return node.cpus > 0; });
  }

  Result<void> count_ranks() {
    const int nodes = static_cast<int>(nodes_.size());
    if (ranks_ == 0 && each_ > 0) ranks_ = each_ * nodes;
    if (ranks_ == 0 && line_.typed("cpus-per-task") && cpus_known())
      ranks_ = static_cast<int>(std::max(most_ranks(), 1L));
    if (ranks_ == 0) ranks_ = std::max(nodes, least_ranks_);
    if (each_ * nodes != ranks_ && line_.typed("ntasks-per-node")) {
      job_.note(line_.find("ntasks-per-node")->spelled + " changes nothing, as in srun: -n or SLURM_NTASKS sets " +
                count(ranks_, "rank") + " for " + count(nodes, "node"));
    }
    if (plane_ == 1) cyclic_ = true;
    if (plane_ < 2) return {};
    const int planes = (ranks_ + plane_ - 1) / plane_;
    if (planes == nodes) return {};
    if (planes < nodes) {
      return refuse_option(*line_.find("distribution"), "not supported: more nodes than planes", "",
                           "set -N " + std::to_string(planes));
    }
    return refuse_option(*line_.find("distribution"), "not supported: more planes than nodes", "",
                         "use dlaunch's --rankfile FILE to place each rank");
  }

  /// Rejects more ranks than CPUs, as srun does.
  Result<void> check_cpus() {
    const bool may_share = line_.find("overcommit") || filled_variable(environment(), "DLAUNCH_OVERSUBSCRIBE");
    if (may_share || !cpus_known() || most_ranks() >= ranks_) return {};
    const ParsedOption* given = ranks_given() ? ranks_given() : line_.find("cpus-per-task");
    std::string what = "not enough CPUs for " + count(ranks_, "rank") + " of " + count(std::max(cpus_each_, 1), "CPU") +
                       " on " + count(nodes_.size(), "node");
    return fail({.where = given ? given->spelled : "srun",
                 .what = std::move(what),
                 .why = "SLURM_JOB_CPUS_PER_NODE allows " + count(most_ranks(), "rank"),
                 .hint = "add --overcommit to let ranks share CPUs"});
  }

  /// Whether srun fills the nodes one after the other.
  bool fills() const { return packed_ && !cyclic_ && plane_ == 0 && cpus_known(); }

  /// With pack, srun uses as few nodes as possible, and all nodes of -w. A typed -N overrides this.
  void drop_unused() {
    if (!fills() || line_.typed("nodes")) return;
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (is_wanted(nodes_[i]) || most_ranks() - most_ranks_on(nodes_[i]) < ranks_) continue;
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// The number of ranks on each node. srun gives each node one rank in turn, and leaves out nodes whose CPUs are used;
  /// with pack, srun gives each node one rank, and then fills the nodes one after the other. If all CPUs are used, the
  /// nodes share the remaining ranks.
  std::vector<int> counts_of_nodes() const {
    std::vector<int> counts(nodes_.size(), 0);
    bool full = false;
    for (int left = ranks_, turn = 0; left > 0; ++turn) {
      bool given = false;
      for (size_t i = 0; i < nodes_.size() && left > 0; ++i) {
        const int room = full ? 1 : most_ranks_on(nodes_[i]) - counts[i];
        const int more = std::min({left, std::max(room, 0), fills() && turn > 0 ? left : 1});
        counts[i] += more;
        left -= more;
        given = given || more > 0;
      }
      full = !given;
    }
    return counts;
  }

  /// Limits the ranks of each node if srun does not distribute them evenly.
  void limit_nodes() {
    if (!cpus_known()) return;
    std::string limits;
    bool even = true;
    const auto nodes = static_cast<int>(nodes_.size());
    const auto counts = counts_of_nodes();
    for (int i = 0; i < nodes; ++i) {
      const int number = counts[static_cast<size_t>(i)];
      if (number == 0) return;
      even = even && number == ranks_ / nodes + (i < ranks_ % nodes ? 1 : 0);
      limits += (i == 0 ? "" : ",") + std::to_string(number);
    }
    if (!even) job_.add(job_.itself(), "max-slots", std::move(limits));
  }

  Result<void> add_options() {
    const ParsedOption ranks = ranks_given() ? *ranks_given() : job_.itself();
    if (nodes_.size() < all_) {
      std::string names;
      for (const SrunNode& node : nodes_) names += (names.empty() ? "" : "@") + node.name;
      job_.add(job_.itself(), "include", std::move(names));
    }
    job_.add(ranks, "n", std::to_string(ranks_));
    if (nodes_.size() == 1) return {};
    const ParsedOption* given = line_.find("distribution");
    if (plane_ > 1) return job_.add(*given, "N", std::to_string(plane_)), Result<void>();
    limit_nodes();
    job_.add(given ? *given : job_.itself(), "map-by", cyclic_ ? "node" : packed_ && !fills() ? "slot" : "block");
    return {};
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  const int least_ranks_;
  std::vector<SrunNode> nodes_;
  std::vector<std::string> wanted_;
  size_t all_ = 0;
  int ranks_ = 0;
  int each_ = 0;
  int cpus_each_ = 0;
  int least_nodes_ = 0;
  int most_nodes_ = 0;
  int plane_ = 0;
  bool cyclic_ = false;
  bool packed_ = false;
};

}  // namespace

Result<int> add_srun_layout(LauncherJob& job, int least) { return SrunLayout(job, least).add(); }

}  // namespace dlaunch::cli
