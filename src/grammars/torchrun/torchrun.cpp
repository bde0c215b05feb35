#include "grammars/launchers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "mpirun/translate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr const char* kPrefixVariable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

constexpr int kStdout = 1;
constexpr int kStderr = 2;

/// Local ranks of a host.
struct LocalRanks {
  bool all = false;
  std::set<int> some = {};

  bool none() const { return !all && some.empty(); }
  bool operator==(const LocalRanks&) const = default;
};

/// The ranks whose stdout or stderr -r or -t writes to files.
struct KeptStreams {
  const ParsedOption* given = nullptr;
  LocalRanks out = {};
  LocalRanks err = {};

  const LocalRanks& of(int stream) const { return stream == kStdout ? out : err; }
};

/// Parses "3" (0 none, 1 stdout, 2 stderr, 3 both; for all ranks) or "0:3,1:2" (per local rank).
Result<KeptStreams> streams_of(const ParsedOption* given) {
  KeptStreams kept{.given = given};
  if (!given) return kept;
  for (const std::string& part : split(given->value, ',')) {
    const size_t colon = part.find(':');
    const bool all = colon == part.npos;
    const auto rank = all ? std::optional(0L) : parse_int(trim(string_view(part).substr(0, colon)), 0, kMaxRanks);
    const auto streams = parse_int(trim(string_view(part).substr(all ? 0 : colon + 1)), 0, kStdout | kStderr);
    if (!rank || !streams || (all && part.size() != given->value.size())) {
      return refuse_value(*given, "streams", "0 to 3 for all ranks, or 0:3,1:2 for local ranks");
    }
    for (const auto& [stream, ranks] : {std::pair{kStdout, &kept.out}, {kStderr, &kept.err}}) {
      if ((*streams & stream) == 0) continue;
      ranks->all = all;
      if (!all) ranks->some.insert(static_cast<int>(*rank));
    }
  }
  return kept;
}

std::string list_of(const LocalRanks& ranks) { return fold_ints(ranks.some); }

/// The directives after the file name. -r writes a stream only to files; -t also prints the stream.
Result<std::string> file_directives(const KeptStreams& redirects, const KeptStreams& tee, int stream) {
  const LocalRanks& kept = redirects.of(stream);
  const LocalRanks& shown = tee.of(stream);
  if (shown.none()) return std::string(kept.all ? "" : ":local=" + list_of(kept));
  if (shown.all || kept.all) return std::string(":copy");
  if (std::ranges::includes(shown.some, kept.some)) return ":local=" + list_of(shown) + ":copy";
  return refuse_conflict(*tee.given, "--redirects", "the options select different ranks",
                         "use --redirects 3, or the same ranks for both");
}

/// The ranks to print if all ranks have files. Empty: all ranks.
Result<LocalRanks> shown_of_all(const KeptStreams& redirects, const KeptStreams& tee) {
  const auto chooses = [&](int stream) { return redirects.of(stream).all && !tee.of(stream).some.empty(); };
  if (!chooses(kStdout) && !chooses(kStderr)) return LocalRanks{};
  if (tee.out == tee.err && redirects.out.all && redirects.err.all) return tee.out;
  return refuse_option(*tee.given, "not supported: printing only stdout or only stderr of some ranks", "",
                       "use --redirects 3, and print both streams (3) of these ranks, such as --tee 0:3,1:3");
}

/// Returns the label for a Python string.Template: replaces ${rank}, ${local_rank}, ${role_name} and ${hostname} with
/// fields of the label or with text.
std::string label_of(string_view text, const std::string& role) {
  const std::pair<string_view, std::string> names[] = {
      {"role_name", literal(role)}, {"local_rank", "{local_rank}"}, {"rank", "{rank}"}, {"hostname", "{host}"}};
  std::string label;
  while (!text.empty()) {
    const auto named = std::ranges::find_if(
        names, [&](const auto& each) { return text.starts_with("${" + std::string(each.first) + "}"); });
    if (named == std::end(names)) {
      label += literal(text.substr(0, 1));
      text.remove_prefix(1);
    } else {
      label += named->second;
      text.remove_prefix(named->first.size() + 3);
    }
  }
  return label;
}

/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}/, the directory that torchrun uses.
std::string directory_of(const LauncherLine& line, int nodes, const ProcessContext& context) {
  std::string id = line.find("standalone") ? "standalone" : line.value("rdzv-id", "none");
  std::ranges::replace(id, '/', '_');
  const std::string temporary = filled_variable(context.environment, "TMPDIR").value_or("/tmp");
  const std::string base = line.value("log-dir", temporary + "/torchelastic_" + context.random_name);
  return literal(base + "/" + id + "_" + context.random_name) + (nodes > 1 ? "/{host}" : "") + "/attempt_" +
         (line.value("max-restarts", "0") != "0" ? "{round}" : "0") + "/{local_rank}/";
}

/// Translates --log-dir, -r, -t and --log-line-prefix-template. The result names the files
/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}/stdout.log, stderr.log and error.json, and the label for -t.
/// With several nodes {host} precedes attempt_0, because node 0 stores all files.
Result<std::vector<ParsedOption>> log_options(const LauncherLine& line, int nodes, const ProcessContext& context) {
  const auto redirects = TRY(streams_of(line.find("redirects")));
  const auto tee = TRY(streams_of(line.find("tee")));
  std::vector<ParsedOption> options;
  const ParsedOption* log_dir = line.find("log-dir");
  const bool shows = !tee.out.none() || !tee.err.none();
  if (!shows && redirects.out.none() && redirects.err.none() && !log_dir) return options;
  const std::string directory = directory_of(line, nodes, context);
  const ParsedOption& first = log_dir ? *log_dir : tee.given ? *tee.given : *redirects.given;
  options.push_back(own_option(first, "error-file", directory + "error.json"));
  for (const auto& [stream, option, file] :
       {std::tuple{kStdout, "stdout-file", "stdout.log"}, {kStderr, "stderr-file", "stderr.log"}}) {
    if (redirects.of(stream).none() && tee.of(stream).none()) continue;
    const auto directives = TRY(file_directives(redirects, tee, stream));
    const ParsedOption& given = tee.of(stream).none() ? *redirects.given : *tee.given;
    options.push_back(own_option(given, option, directory + file + directives));
  }
  if (!shows) return options;
  const auto chosen = TRY(shown_of_all(redirects, tee));
  if (!chosen.none()) options.push_back(own_option(*tee.given, "local-ranks", list_of(chosen)));
  const std::string role = line.value("role", "default");
  const std::string prefix =
      line.value("log-line-prefix-template",
                 filled_variable(context.environment, kPrefixVariable).value_or("[${role_name}${local_rank}]:"));
  options.push_back(own_option(*tee.given, "label", label_of(prefix, role)));
  return options;
}

/// HOST[:PORT]. An IPv6 address with a port requires brackets.
struct Endpoint {
  std::string host;
  std::string port;  ///< empty: any free port
};

Result<Endpoint> endpoint_of(const ParsedOption& given) {
  const string_view text = given.value;
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const size_t colon = bracket == text.npos ? text.npos : text.find(':', bracket);
  Endpoint endpoint{std::string(text.substr(0, colon)), ""};
  if (colon == text.npos) return endpoint;
  const auto port = parse_int(text.substr(colon + 1), 0, kMostPort);
  if (!port) return refuse_value(given, "endpoint", "HOST:PORT, with port 0 for any free port");
  if (*port != 0) endpoint.port = std::to_string(*port);
  return endpoint;
}

class TorchrunJob {
 public:
  /// `local_rank`: passes `--local_rank=L` as the script's first argument, unless --use-env is given.
  TorchrunJob(LauncherJob& job, bool local_rank) : job_(job), line_(job.line()), local_rank_(local_rank) {}

  Result<void> make() {
    TRY(add_nodes());
    TRY(add_ranks());
    TRY(add_rendezvous());
    TRY(add_restarts());
    TRY(check_events());
    TRY(add_binding());
    TRY(add_names());
    TRY(add_logs());
    return add_program();
  }

 private:
  /// With several nodes, each node runs the same command line.
  Result<void> add_nodes() {
    const ParsedOption* given = line_.find("nnodes");
    if (given) nodes_ = TRY(nodes_of(*given));
    const ParsedOption* rank = line_.find("node-rank");
    int own = 0;
    if (rank) own = TRY(number_of(*rank, 0, kMostNodes - 1));
    if (nodes_ == 1 && own > 0)
      return refuse_option(*rank, "not enough nodes", "the job has only node 0", "set --nnodes to the number of nodes");
    if (nodes_ > 1) job_.add_nodes(*given, least_ < nodes_ ? given->value : std::to_string(nodes_), rank);
    if (least_ < nodes_) {
      job_.note(given->spelled + " " + given->value + ": the number of nodes does not change after the start");
    }
    if (const ParsedOption* settings = line_.find("rdzv-conf")) add_settings(*settings, rank != nullptr);
    return {};
  }

  /// Translates keys of --rdzv-conf: the time limits of node 0, and is_host if the node has no number.
  /// `numbered`: --node-rank is given.
  void add_settings(const ParsedOption& settings, bool numbered) {
    constexpr string_view kWait = "join_timeout=";
    constexpr string_view kLastCall = "last_call_timeout=";
    constexpr string_view kIsFirst[] = {"is_host=1", "is_host=true", "is_host=True"};
    for (const std::string& part : split(settings.value, ',')) {
      const string_view setting = trim(part);
      if (nodes_ > 1 && setting.starts_with(kWait)) {
        job_.add(settings, "wait-hosts", std::string(setting.substr(kWait.size())));
      } else if (nodes_ > 1 && setting.starts_with(kLastCall)) {
        job_.add(settings, "last-call", std::string(setting.substr(kLastCall.size())));
      } else if (nodes_ > 1 && !numbered && std::ranges::find(kIsFirst, setting) != std::end(kIsFirst)) {
        job_.add(settings, "node-rank", "0");
      } else if (!setting.empty()) {
        job_.note(settings.spelled + " " + std::string(setting) + " changes nothing here");
      }
    }
  }

  /// The maximum number of nodes; sets least_. --standalone with a minimum of 1 is one node.
  Result<int> nodes_of(const ParsedOption& given) {
    const auto parts = split(given.value, ':');
    const auto least = parse_int(parts.front(), 1, kMostNodes);
    const auto most = parse_int(parts.back(), 1, kMostNodes);
    if (parts.size() > 2 || !least || !most || *least > *most) {
      return refuse_value(given, "number of nodes", "N or MIN:MAX, at most " + std::to_string(kMostNodes));
    }
    const bool alone = *least == 1 && line_.find("standalone");
    least_ = static_cast<int>(*least);
    return static_cast<int>(alone ? 1 : *most);
  }

  Result<void> add_ranks() {
    const ParsedOption* given = line_.find("nproc-per-node");
    if (!given) return job_.add(job_.itself(), "N", "1"), Result<void>();
    if (given->value == "auto") return {};
    if (given->value == "cpu") return job_.add(*given, "fake-devices", "0"), Result<void>();
    constexpr string_view kDevices[] = {"gpu", "xpu", "npu", "hpu", "mps", "mtia"};
    if (std::ranges::find(kDevices, given->value) != std::end(kDevices)) {
      return job_.add(*given, "n", "devices"), Result<void>();
    }
    if (!parse_int(given->value, 1, kMaxRanks)) {
      return refuse_value(*given, "number of ranks", "a number, auto, cpu or gpu");
    }
    return job_.add(*given, "N", given->value), Result<void>();
  }

  /// Adds the address of the nodes' rendezvous, or MASTER_ADDR and MASTER_PORT of the ranks. --env-for sets the address
  /// and a free port if the command line does not set them.
  Result<void> add_rendezvous() {
    const std::string backend = line_.value("rdzv-backend", "static");
    if (backend.starts_with("etcd")) {
      return refuse_option(*line_.find("rdzv-backend"), "not supported: etcd", "", "use c10d: no server is required");
    }
    if (backend != "static" && backend != "c10d") {
      return refuse_value(*line_.find("rdzv-backend"), "backend", "static or c10d");
    }
    const ParsedOption* endpoint = line_.find("rdzv-endpoint");
    const bool set = endpoint && !endpoint->value.empty();
    Endpoint meet;
    if (set) meet = TRY(endpoint_of(*endpoint));
    const bool is_master = set && backend == "static" && !line_.find("standalone");
    const ParsedOption* port = line_.find("master-port");
    int number = 0;
    if (port) number = TRY(number_of(*port, 0, kMostPort));
    if (nodes_ > 1) return add_nodes_rendezvous(set ? endpoint : nullptr);
    if (is_master) {
      job_.add_variable(*endpoint, "MASTER_ADDR", meet.host);
      if (!meet.port.empty()) job_.add_variable(*endpoint, "MASTER_PORT", meet.port);
      return {};
    }
    if (const ParsedOption* address = line_.find("master-addr"))
      job_.add_variable(*address, "MASTER_ADDR", address->value);
    if (number > 0) job_.add_variable(*port, "MASTER_PORT", port->value);
    return {};
  }

  /// The port is for dlaunch on the nodes; the ranks get another, free port of node 0.
  Result<void> add_nodes_rendezvous(const ParsedOption* endpoint) {
    const ParsedOption* address = line_.find("master-addr");
    if (endpoint) return job_.add(*endpoint, "rendezvous", endpoint->value), Result<void>();
    if (!address) return {};
    const std::string port = line_.value("master-port", "29500");
    return job_.add(*address, "rendezvous", address->value + ":" + port), Result<void>();
  }

  Result<void> add_restarts() {
    const ParsedOption* given = line_.find("max-restarts");
    if (!given) return {};
    const int restarts = TRY(number_of(*given, 0, kMostRestarts));
    if (restarts > 0) job_.add(*given, "restarts", std::to_string(restarts));
    return {};
  }

  Result<void> check_events() {
    const ParsedOption* given = line_.find("event-log-handler");
    if (!given || given->value == "null" || given->value == "console") return {};
    return refuse_value(*given, "event handler", "null or console; --report FILE writes events as JSON");
  }

  Result<void> add_binding() {
    const ParsedOption* given = line_.find("numa-binding");
    if (!given) return {};
    if (given->value == "node") return job_.add(*given, "bind-to", "device"), Result<void>();
    return refuse_value(*given, "binding", "node; use dlaunch's --bind-to for core, socket or numa");
  }

  Result<void> add_names() {
    if (const ParsedOption* role = line_.find("role")) job_.add_variable(*role, "ROLE_NAME", role->value);
    const ParsedOption* id = line_.find("rdzv-id");
    if (id && !line_.find("standalone")) job_.add_variable(*id, "TORCHELASTIC_RUN_ID", id->value);
    return {};
  }

  Result<void> add_logs() {
    auto options = TRY(log_options(line_, nodes_, job_.context()));
    for (ParsedOption& option : options) job_.add(std::move(option));
    const ParsedOption* filter = line_.find("local-ranks-filter");
    if (filter && !filter->value.empty()) job_.add(*filter, "local-ranks", filter->value);
    return {};
  }

  std::string python() const {
    const auto chosen = filled_variable(job_.context().environment, "PYTHON_EXEC");
    return chosen ? *chosen : job_.in_path({"python3", "python"});
  }

  Result<void> add_program() {
    const bool local_rank = local_rank_ && !line_.find("use-env");
    const bool plain = line_.find("no-python") && !line_.find("run-path");
    const ParsedOption* module = line_.find("run-path") ? nullptr : line_.find("module");
    if (plain && module)
      return refuse_conflict(*module, "--no-python", "a module requires Python", "remove one of them");
    if (plain && local_rank) {
      return refuse_without(*line_.find("no-python"), "--use-env",
                            "torch.distributed.launch passes --local_rank only to Python", "add --use-env");
    }
    return job_.set_program(
        {.python = plain ? "" : python(), .module = module != nullptr, .local_rank = local_rank, .macros = true});
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  const bool local_rank_;
  int least_ = 1;
  int nodes_ = 1;  // the maximum
};

}  // namespace

Result<void> make_torchrun_job(LauncherJob& job) { return TorchrunJob(job, false).make(); }

Result<void> make_torch_launch_job(LauncherJob& job) { return TorchrunJob(job, true).make(); }

}  // namespace dlaunch::cli
