#include "grammars/horovodrun/horovodrun.h"

#include <algorithm>
#include <cctype>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/launchers.h"
#include "mpirun/arguments.h"
#include "place/variables.h"

namespace dlaunch::cli {

// horovodrun's options, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.

namespace {

constexpr const char* kElastic = "dlaunch does not add or remove hosts during a job";

// clang-format off
constexpr LauncherOption kHorovodrunOptions[] = {
    {{.names = "num-proc -np", .takes = Arity::value, .value_name = "N",
      .help = "`-n N`; without `-H` and `-hostfile`, all ranks run on this machine"}},
    {{.names = "hosts H", .takes = Arity::value, .value_name = "LIST",
      .help = "`-H HOST:SLOTS,...`; each host requires a number of slots"}},
    {{.names = "hostfile -hostfile", .takes = Arity::value, .value_name = "FILE",
      .help = "`-H` with the hosts of FILE; each line of FILE is HOST slots=N"}},
    {{.names = "ssh-port p", .takes = Arity::value, .value_name = "PORT", .help = "`--ssh-port PORT`",
      .stands_for = "ssh-port={}"}},
    {{.names = "ssh-identity-file i", .takes = Arity::value, .value_name = "FILE", .help = "`--ssh-identity FILE`",
      .stands_for = "ssh-identity={}"}},
    {{.names = "network-interfaces network-interface", .takes = Arity::value, .value_name = "NAMES",
      .help = "`-x NCCL_SOCKET_IFNAME=NAMES`, and `-x HOROVOD_GLOO_IFACE=` with the first name"}},
    {{.names = "gloo", .help = "`--env-for horovod`, and dlaunch starts Horovod's rendezvous server; default, unless "
          "an option requests MPI"}},
    {{.names = "mpi", .help = "`--env-for openmpi --tag-output`, and dlaunch serves MPI as for mpirun; default with "
          "`--mpi-args` or `--binding-args`"}},
    {{.names = "jsrun", .help = "remove the option"}, Support::refused},
    {{.names = "mpi-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "adds WORDS as options of mpirun; no effect with `--gloo`"}},
    {{.names = "binding-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "same as `--mpi-args`, for mpirun's binding options"}},
    {{.names = "tcp", .help = "`-x NCCL_IB_DISABLE=1`", .stands_for = "x=NCCL_IB_DISABLE=1"}},
    {{.names = "start-timeout", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`--wait-hosts SECONDS` with `-H` or a hostfile; default: HOROVOD_START_TIMEOUT"}},
    {{.names = "output-filename", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR:nojobid`, which writes DIR/rank.N/stdout and stderr; with MPI, DIR/1/rank.N/… as "
          "in mpirun"}},
    {{.names = "prefix-output-with-timestamp -prefix-timestamp",
      .help = "adds the time to `--label`; with MPI `--timestamp-output`"}},
    {{.names = "verbose", .help = "`-v`", .stands_for = "verbose=1"}},
    {{.names = "disable-cache", .help = "dlaunch does not cache the results of checks"}, Support::ignored},
    {{.names = "check-build -cb", .help = "run horovodrun --check-build without dlaunch"}, Support::refused},
    {{.names = "config-file", .takes = Arity::value, .value_name = "FILE",
      .help = "reads the sections `controller`, `params`, `autotune`, `timeline`, `stall_check`, `library_options` and "
          "`logging` of FILE; options override the file"}},
    {{.names = "fusion-threshold-mb", .takes = Arity::value, .value_name = "MB",
      .help = "`-x HOROVOD_FUSION_THRESHOLD=` with MB converted to bytes"}},
    {{.names = "cycle-time-ms", .takes = Arity::value, .value_name = "MS", .help = "`-x HOROVOD_CYCLE_TIME=MS`"}},
    {{.names = "cache-capacity", .takes = Arity::value, .value_name = "N", .help = "`-x HOROVOD_CACHE_CAPACITY=N`"}},
    {{.names = "hierarchical-allreduce", .help = "`-x HOROVOD_HIERARCHICAL_ALLREDUCE=1`"}},
    {{.names = "no-hierarchical-allreduce", .help = "`-x HOROVOD_HIERARCHICAL_ALLREDUCE=0`"}},
    {{.names = "hierarchical-allgather", .help = "`-x HOROVOD_HIERARCHICAL_ALLGATHER=1`"}},
    {{.names = "no-hierarchical-allgather", .help = "`-x HOROVOD_HIERARCHICAL_ALLGATHER=0`"}},
    {{.names = "torus-allreduce", .help = "`-x HOROVOD_TORUS_ALLREDUCE=1`"}},
    {{.names = "no-torus-allreduce", .help = "`-x HOROVOD_TORUS_ALLREDUCE=0`"}},
    {{.names = "autotune", .help = "`-x HOROVOD_AUTOTUNE=1`"}},
    {{.names = "no-autotune", .help = "turns autotuning off; the other `--autotune-…` options then have no effect"}},
    {{.names = "autotune-log-file", .takes = Arity::value, .value_name = "FILE",
      .help = "`-x HOROVOD_AUTOTUNE_LOG=FILE`; requires `--autotune`"}},
    {{.names = "autotune-warmup-samples", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_WARMUP_SAMPLES=N`; requires `--autotune`"}},
    {{.names = "autotune-steps-per-sample", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=N`; requires `--autotune`"}},
    {{.names = "autotune-bayes-opt-max-samples", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=N`; requires `--autotune`"}},
    {{.names = "autotune-gaussian-process-noise", .takes = Arity::value, .value_name = "X",
      .help = "`-x HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=X`; requires `--autotune`"}},
    {{.names = "timeline-filename", .takes = Arity::value, .value_name = "FILE", .help = "`-x HOROVOD_TIMELINE=FILE`"}},
    {{.names = "timeline-mark-cycles", .help = "`-x HOROVOD_TIMELINE_MARK_CYCLES=1`; requires `--timeline-filename`"}},
    {{.names = "no-timeline-mark-cycles", .help = "`-x HOROVOD_TIMELINE_MARK_CYCLES=0`; requires "
          "`--timeline-filename`"}},
    {{.names = "no-stall-check", .help = "`-x HOROVOD_STALL_CHECK_DISABLE=1`"}},
    {{.names = "stall-check", .help = "`-x HOROVOD_STALL_CHECK_DISABLE=0`"}},
    {{.names = "stall-check-warning-time-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_STALL_CHECK_TIME_SECONDS=SECONDS`"}},
    {{.names = "stall-check-shutdown-time-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=SECONDS`"}},
    {{.names = "mpi-threads-disable", .help = "`-x HOROVOD_MPI_THREADS_DISABLE=1`"}},
    {{.names = "no-mpi-threads-disable", .help = "`-x HOROVOD_MPI_THREADS_DISABLE=0`"}},
    {{.names = "num-nccl-streams", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_NUM_NCCL_STREAMS=N`"}},
    {{.names = "thread-affinity", .takes = Arity::value, .value_name = "N", .help = "`-x HOROVOD_THREAD_AFFINITY=N`"}},
    {{.names = "gloo-timeout-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_GLOO_TIMEOUT_SECONDS=SECONDS`"}},
    {{.names = "log-level", .takes = Arity::value, .value_name = "LEVEL", .help = "`-x HOROVOD_LOG_LEVEL=LEVEL`"}},
    {{.names = "log-with-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=0`"}},
    {{.names = "log-without-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=1`"}},
    {{.names = "log-hide-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=1`"}},
    {{.names = "no-log-hide-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=0`"}},
    {{.names = "min-np min-num-proc", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "max-np max-num-proc", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "slots-per-host", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "elastic-timeout", .takes = Arity::value, .value_name = "SECONDS", .help = kElastic}, Support::refused},
    {{.names = "reset-limit", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "blacklist-cooldown-range", .takes = Arity::value, .value_name = "MIN MAX",
      .help = kElastic}, Support::refused},
    {{.names = "host-discovery-script", .takes = Arity::value, .value_name = "FILE",
      .help = kElastic}, Support::refused},
    {{.names = "version v", .takes = Arity::show, .help = "print dlaunch's version"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
};
// clang-format on

constexpr OwnDefault kHorovodrunDefaults[] = {{"env-all", "true"}, {"oversubscribe", "true"}};

constexpr LauncherSpec kHorovodrun{.name = "horovodrun",
                                   .options = kHorovodrunOptions,
                                   .joint = Joint::dash,
                                   .defaults = kHorovodrunDefaults,
                                   .make = make_horovodrun_job};

}  // namespace

const LauncherSpec& horovodrun_launcher() { return kHorovodrun; }

namespace {

using std::string_view;

/// Parses HOST:SLOTS,... as horovodrun does: letters, digits, '_', '.' and '-', and always a number.
Result<std::vector<HostSlots>> parse_slots_list(const ParsedOption& given) {
  std::vector<HostSlots> hosts;
  for (const std::string& item : split(given.value, ',')) {
    const string_view host = trim(item);
    const size_t colon = host.rfind(':');
    const auto slots = colon == host.npos ? std::nullopt : parse_int(host.substr(colon + 1), 0, kMaxRanks);
    const string_view name = host.substr(0, colon);
    const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
    });
    if (!plain || !slots) return refuse_value(given, "host list", "HOST:SLOTS,...: host1:4,host2:4");
    hosts.push_back({std::string(name), static_cast<int>(*slots)});
  }
  return hosts;
}

class HorovodrunJob {
 public:
  explicit HorovodrunJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    TRY(read_horovod_config(job_, line_));
    TRY(add_ranks());
    TRY(add_controller());
    add_interfaces();
    TRY(add_horovod_settings(job_, line_));
    return job_.set_program(line_.program);
  }

 private:
  Result<void> add_ranks() {
    const ParsedOption* hosts = line_.find("hosts");
    const ParsedOption* file = line_.find("hostfile");
    if (hosts && file) return refuse_conflict(*file, "--hosts", "", "remove one of them");
    if (hosts) hosts_ = TRY(parse_slots_list(*hosts));
    if (file) TRY(read_file(*file));
    // In an LSF job horovodrun uses the hosts of the job.
    const bool in_lsf = filled_variable(job_.context().environment, place::kLsfJob).has_value();
    if (!hosts_.empty() || !in_lsf) job_.add(job_.itself(), "ignore-resource-manager");
    const ParsedOption* number = line_.find("num-proc");
    if (!number && in_lsf) return add_hosts(hosts ? hosts : file);
    if (!number) {
      return fail({.where = "horovodrun", .what = "missing -np", .why = "", .hint = "add the number of ranks: -np 4"});
    }
    const int ranks = TRY(number_of(*number, 1, kMaxRanks));
    long slots = 0;
    for (const HostSlots& host : hosts_) slots += host.slots;
    if (!hosts_.empty() && ranks > slots) {
      return refuse_option(*number, "not enough slots: " + count(ranks, "rank") + ", " + count(slots, "slot"), "",
                           "add hosts or slots");
    }
    ranks_ = ranks;
    job_.add(*number, "n", number->value);
    return add_hosts(hosts ? hosts : file);
  }

  Result<void> read_file(const ParsedOption& file) {
    const auto text = TRY(text_of_file(file.value, job_.context()));
    hosts_ = TRY(parse_slots_file(text, file.value));
    return {};
  }

  Result<void> add_hosts(const ParsedOption* given) {
    if (!given) return {};
    std::string list;
    for (const HostSlots& host : hosts_) {
      list += (list.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
    }
    job_.add(*given, "host", list);
    const ParsedOption* wait = line_.find("start-timeout");
    const auto variable = filled_variable(job_.context().environment, "HOROVOD_START_TIMEOUT");
    if (wait) TRY(number_of(*wait, 0, kMaxRanks));
    if (wait || variable) job_.add(wait ? *wait : job_.itself(), "wait-hosts", wait ? wait->value : *variable);
    return {};
  }

  /// Gloo, or MPI if an option of the line requests MPI.
  Result<void> add_controller() {
    const ParsedOption* gloo = line_.find("gloo");
    const ParsedOption* mpi = line_.find("mpi");
    if (gloo && mpi) return refuse_conflict(*mpi, "--gloo", "both choose the controller", "remove one of them");
    const ParsedOption* words = line_.find("mpi-args");
    const ParsedOption* binding = line_.find("binding-args");
    if (!mpi && (gloo || (!words && !binding))) return add_gloo();
    const ParsedOption& by = mpi ? *mpi : words ? *words : *binding;
    job_.add(job_.itself(), "env-for", "openmpi");
    job_.add(job_.itself(), "tag-output");
    if (line_.find("prefix-output-with-timestamp")) job_.add(by, "timestamp-output");
    if (const ParsedOption* files = line_.find("output-filename")) job_.add(*files, "output-filename", files->value);
    for (const ParsedOption* each : {binding, words}) {
      if (each) TRY(add_words(*each));
    }
    return {};
  }

  Result<void> add_gloo() {
    for (const string_view name : {"mpi-args", "binding-args"}) {
      const ParsedOption* given = line_.find(name);
      if (given) job_.note(given->spelled + " changes nothing with --gloo");
    }
    job_.add(job_.itself(), "env-for", "horovod");
    const bool timed = line_.find("prefix-output-with-timestamp") != nullptr;
    job_.add(job_.itself(), "label", std::string(timed ? "{time}" : "") + "[{rank}]<{stream}>:");
    const ParsedOption* files = line_.find("output-filename");
    if (!files) return {};
    // horovodrun's directory names have the digits of the highest rank, dlaunch's those of the number of ranks.
    const bool by_template = ranks_ == 10;
    job_.add(*files, "output-filename",
             by_template ? literal(files->value) + "/rank.{rank}/{stream}"
                         : files->value + (files->value.find(':') == std::string::npos ? ":nojobid" : "/:nojobid"));
    return {};
  }

  /// Options of mpirun in one word.
  Result<void> add_words(const ParsedOption& given) {
    const auto words = TRY(split_words(given.value));
    auto arguments = parse_arguments(words, option_of_launchers);
    if (!arguments) {
      arguments.error().where = given.spelled + ": " + arguments.error().where;
      return fail(arguments.error());
    }
    if (arguments->groups.empty()) return {};
    if (arguments->groups.size() > 1 || !arguments->groups.front().program.empty() || arguments->show) {
      return refuse_option(given, "invalid words: expected only options of mpirun", "",
                           "put the program after horovodrun's options");
    }
    for (ParsedOption& option : arguments->groups.front().options) {
      option.spelled.insert(0, given.spelled + " ");
      job_.add(std::move(option));
    }
    return {};
  }

  /// The interfaces of all --network-interfaces options, without duplicates.
  void add_interfaces() {
    std::vector<std::string> names;
    const ParsedOption* last = line_.find("network-interfaces");
    for (const ParsedOption& given : line_.options) {
      if (given.spec != (last ? last->spec : nullptr)) continue;
      for (const std::string& name : split(given.value, ',')) {
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
    if (names.empty()) return;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    job_.add_variable(*last, "NCCL_SOCKET_IFNAME", list);
    job_.add_variable(*last, "HOROVOD_GLOO_IFACE", names.front());
  }

  LauncherJob& job_;
  LauncherLine line_;  // includes the settings of the configuration file
  std::vector<HostSlots> hosts_;
  int ranks_ = 0;  // 0: one per slot of the LSF job
};

}  // namespace

Result<void> make_horovodrun_job(LauncherJob& job) { return HorovodrunJob(job).make(); }

}  // namespace dlaunch::cli
