#include "grammars/launchers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"

namespace dlaunch::cli {

// msrun's options, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.

namespace {

// clang-format off
constexpr LauncherOption kMsrunOptions[] = {
    {{.names = "worker-num", .takes = Arity::value, .value_name = "N",
      .help = "number of ranks on all nodes, default 8; if N is larger than L of `--local_worker_num`: `--same-line "
          "--nodes N/L` (run the command on each node, with `DLAUNCH_KEY`)"}},
    {{.names = "local-worker-num", .takes = Arity::value, .value_name = "L",
      .help = "`-N L`; default 8, or `--worker_num` if smaller"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "one node: `-x MS_SCHED_HOST=HOST`; several nodes: `--rendezvous HOST:PORT`, and the scheduler runs on "
          "node 0"}},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "one node: `-x MS_SCHED_PORT=PORT` (default: a free port); several nodes: the port of `--rendezvous` "
          "(default: 8118)"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N",
      .help = "`--node-rank N` with several nodes; if missing or -1, the number comes from the "
          "environment (Slurm, …)"}},
    {{.names = "log-dir", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/worker_{rank}.log`; DIR also contains scheduler.log; default: the current "
          "directory"}},
    {{.names = "join", .takes = Arity::value, .value_name = "True/False",
      .help = "True: the ranks' output goes to files and to the console; False: only to files (`:nocopy`); in both "
          "cases dlaunch waits for the ranks"}},
    {{.names = "cluster-time-out", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x MS_TOPO_TIMEOUT=SECONDS`, default 600; several nodes: also `--wait-hosts SECONDS`"}},
    {{.names = "bind-core", .takes = Arity::value, .value_name = "True/False",
      .help = "True is `--bind-to device`; a JSON map of cores is refused (use `--rankfile`)"}},
    {{.names = "sim-level", .takes = Arity::value, .value_name = "0-3",
      .help = "`-x MS_SIMULATION_LEVEL=…` and `--env-for mindspore`, without a scheduler; default: the variable "
          "MS_SIMULATION_LEVEL"}},
    {{.names = "sim-rank-id", .takes = Arity::value, .value_name = "R",
      .help = "starts only rank R: `-x RANK_ID=R -x RANK_SIZE=N`; requires `--sim_level`"}},
    {{.names = "rank-table-file", .takes = Arity::value, .value_name = "FILE",
      .help = "`-x RANK_TABLE_FILE=FILE`; ranks still use the scheduler; `dlaunch --rank-table FILE` starts a job from "
          "the table instead"}},
    {{.names = "worker-log-name", .takes = Arity::value, .value_name = "NAME",
      .help = "writes the files DIR/NAME_{rank}.log; {hostname} and {ip} in NAME become {host}"}},
    {{.names = "tail-worker-log", .takes = Arity::value, .value_name = "LIST",
      .help = "`--ranks LIST` with `--join=True`; -1 selects all ranks"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
};
// clang-format on

constexpr OwnDefault kMsrunDefaults[] = {{"env-for", "mindspore-dynamic"},
                                         {"env-all", "true"},
                                         {"oversubscribe", "true"},
                                         {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kMsrun{.name = "msrun",
                              .options = kMsrunOptions,
                              .joint = Joint::underscore,
                              .defaults = kMsrunDefaults,
                              .nodes = {"msrun", "--node_rank", "--master_addr", "HOST"},
                              .make = make_msrun_job};

}  // namespace

const LauncherSpec& msrun_launcher() { return kMsrun; }

namespace {

using std::string_view;

constexpr int kUsualWorkers = 8;
constexpr int kMostSimulated = 128;  // with more ranks per node msrun starts only rank 0

/// Parses Python's True or False. Returns False if the option is missing.
Result<bool> true_or_false(const ParsedOption* given) {
  if (!given || given->value == "False" || given->value == "0") return false;
  if (given->value == "True" || given->value == "1") return true;
  return refuse_value(*given, "value", "True or False");
}

class MsrunJob {
 public:
  explicit MsrunJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    TRY(read_workers());
    TRY(read_simulation());
    TRY(level_ ? simulate() : add_cluster());
    TRY(add_logs());
    TRY(add_binding());
    if (const ParsedOption* table = line_.find("rank-table-file")) {
      if (!table->value.empty()) job_.add_variable(*table, "RANK_TABLE_FILE", table->value);
    }
    return add_program();
  }

 private:
  Result<void> read_workers() {
    const ParsedOption* all = line_.find("worker-num");
    const ParsedOption* local = line_.find("local-worker-num");
    if (all) workers_ = TRY(number_of(*all, 1, kMaxRanks));
    local_ = std::min(kUsualWorkers, workers_);
    if (local) local_ = TRY(number_of(*local, 1, kMaxRanks));
    if (local_ <= workers_) return {};
    return refuse_option(*local, std::to_string(local_) + " exceeds --worker_num " + std::to_string(workers_), "",
                         "set --worker_num " + std::to_string(local_));
  }

  /// Reads msrun's options, else MindSpore's variable.
  Result<void> read_simulation() {
    const ParsedOption* level = line_.find("sim-level");
    const ParsedOption* rank = line_.find("sim-rank-id");
    if (level) level_ = TRY(number_of(*level, 0, 3));
    if (rank && rank->value != "-1") rank_ = TRY(number_of(*rank, 0, kMaxRanks));
    const auto variable = filled_variable(job_.context().environment, "MS_SIMULATION_LEVEL");
    if (!level_ && variable) level_ = static_cast<int>(parse_int(*variable, 0, 3).value_or(0));
    if (level_ || !rank_) return {};
    return refuse_without(*rank, "--sim_level", "", "add --sim_level");
  }

  /// Processes without a connection to each other.
  Result<void> simulate() {
    ParsedOption simulation = job_.itself();
    simulation.source = Source::command_line;  // overrides the default variables of a cluster
    job_.add(simulation, "env-for", "mindspore");
    job_.add_variable(simulation, "MS_SIMULATION_LEVEL", std::to_string(*level_));
    if (!rank_ && local_ > kMostSimulated) rank_ = 0;
    if (!rank_ && local_ < workers_) {
      const std::string all = std::to_string(workers_);
      return fail({.where = "--worker_num",
                   .what = all + " exceeds --local_worker_num " + std::to_string(local_),
                   .why = "",
                   .hint = "set --local_worker_num " + all + ", or --sim_rank_id R for one rank"});
    }
    job_.add(simulation, "N", rank_ ? "1" : std::to_string(local_));
    if (!rank_) return {};
    job_.add_variable(simulation, "RANK_ID", std::to_string(*rank_));
    job_.add_variable(simulation, "RANK_SIZE", std::to_string(workers_));
    return {};
  }

  /// Ranks with MindSpore's scheduler, a separate process on node 0.
  Result<void> add_cluster() {
    const ParsedOption* wait = line_.find("cluster-time-out");
    if (wait && !parse_int(wait->value, -kMaxRanks, kMaxRanks)) {
      return refuse_value(*wait, "number of seconds", "a whole number, for example 600");
    }
    const ParsedOption itself = job_.itself();
    job_.add_variable(wait ? *wait : itself, "MS_TOPO_TIMEOUT", wait ? wait->value : "600");
    const ParsedOption* local = line_.find("local-worker-num");
    job_.add(local ? *local : itself, "N", std::to_string(local_));
    const ParsedOption* port = line_.find("master-port");
    int number = 0;
    if (port) number = TRY(number_of(*port, 1, kMostPort));
    TRY(add_nodes(number));
    if (local_ < workers_) return {};
    if (const ParsedOption* address = line_.find("master-addr")) {
      job_.add_variable(*address, "MS_SCHED_HOST", address->value);
    }
    if (port) job_.add_variable(*port, "MS_SCHED_PORT", port->value);
    return {};
  }

  Result<void> add_nodes(int port) {
    const ParsedOption* rank = line_.find("node-rank");
    if (rank && rank->value == "-1") rank = nullptr;
    if (rank) TRY(number_of(*rank, 0, kMostNodes - 1));
    if (local_ == workers_) {
      if (rank && rank->value != "0") job_.note(rank->spelled + " changes nothing here: all ranks are on this node");
      return {};
    }
    const ParsedOption& all = line_.find("worker-num") ? *line_.find("worker-num") : *line_.find("local-worker-num");
    if (workers_ % local_ != 0) {
      return fail({.where = "--worker_num",
                   .what = "invalid number \"" + std::to_string(workers_) +
                           "\": expected a multiple of --local_worker_num " + std::to_string(local_),
                   .why = "",
                   .hint = "start the job from one host: dlaunch --hostfile FILE"});
    }
    if (workers_ / local_ > kMostNodes) {
      return fail({.where = "--worker_num",
                   .what = "too many nodes",
                   .why = std::to_string(workers_ / local_) + " requested, the limit is " + std::to_string(kMostNodes),
                   .hint = "set a larger --local_worker_num"});
    }
    job_.add_nodes(all, std::to_string(workers_ / local_), rank);
    const ParsedOption* wait = line_.find("cluster-time-out");
    if (wait && !wait->value.starts_with('-')) job_.add(*wait, "wait-hosts", wait->value);
    const ParsedOption* address = line_.find("master-addr");
    constexpr int kUsualSchedulerPort = 8118;
    const std::string meets = ":" + std::to_string(port > 0 ? port : kUsualSchedulerPort);
    if (address) job_.add(*address, "rendezvous", address->value + meets);
    return {};
  }

  /// --worker_log_name as a template of dlaunch, with {host} for {ip} and {hostname}. "worker" if the option is
  /// missing.
  std::string log_name() {
    const ParsedOption* given = line_.find("worker-log-name");
    if (!given || given->value.empty()) return "worker";
    std::string made;
    for (string_view rest = given->value; !rest.empty();) {
      const string_view field = rest.starts_with("{hostname}") ? "{hostname}" : rest.starts_with("{ip}") ? "{ip}" : "";
      made += field.empty() ? literal(rest.substr(0, 1)) : "{host}";
      if (field == "{ip}") job_.note("{ip} of " + given->spelled + " is replaced by the host name");
      rest.remove_prefix(std::max<size_t>(field.size(), 1));
    }
    return made;
  }

  Result<void> add_logs() {
    const ParsedOption* join = line_.find("join");
    const bool joins = TRY(true_or_false(join));
    const ParsedOption* directory = line_.find("log-dir");
    const bool here = !directory || directory->value.empty();
    std::string files = (here ? "" : literal(directory->value) + "/") + log_name() + "_{rank}.log";
    if (!joins) {
      job_.note((join ? join->spelled + " False" : "msrun without --join=True") +
                ": msrun would return at once, but dlaunch waits for the ranks; their output is only in files");
    }
    const std::string shown = TRY(shown_ranks());
    if (!joins || shown.empty()) files += ":nocopy";
    if (joins && !shown.empty() && shown != "-1") job_.add(*line_.find("tail-worker-log"), "ranks", shown);
    job_.add(here ? job_.itself() : *directory, "output-filename", files);
    return {};
  }

  /// The ranks to print; "-1" for all. Numbers of other ranks are removed.
  Result<std::string> shown_ranks() const {
    const ParsedOption* given = line_.find("tail-worker-log");
    if (!given || given->value == "-1") return std::string("-1");
    std::string ranks;
    for (const std::string& part : split(given->value, ',')) {
      const auto rank = parse_int(trim(part), -1, kMaxRanks);
      if (!rank) return refuse_value(*given, "rank list", "-1 for all ranks, or 0,2");
      if (*rank >= 0 && *rank < workers_) ranks += (ranks.empty() ? "" : ",") + std::to_string(*rank);
    }
    return ranks;
  }

  Result<void> add_binding() {
    const ParsedOption* given = line_.find("bind-core");
    if (!given) return {};
    const string_view value = given->value;
    if (value == "True" || value == "true") return job_.add(*given, "bind-to", "device"), Result<void>();
    if (value == "False" || value == "false") return {};
    return refuse_value(*given, "binding", "True or False; use dlaunch --rankfile FILE for the cores of each rank");
  }

  Result<void> add_program() {
    std::vector<std::string> argv = line_.program;
    constexpr std::array<string_view, 3> kInterpreters = {"python", "python3", "pytest"};
    const bool named = argv.empty() || std::ranges::find(kInterpreters, argv.front()) != kInterpreters.end();
    if (!named) argv.insert(argv.begin(), job_.in_path({"python", "python3"}));
    return job_.set_program(std::move(argv));
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  int workers_ = kUsualWorkers;
  int local_ = kUsualWorkers;
  std::optional<int> level_;
  std::optional<int> rank_;
};

}  // namespace

Result<void> make_msrun_job(LauncherJob& job) { return MsrunJob(job).make(); }

}  // namespace dlaunch::cli
