#include "grammars/launchers.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

struct DeepspeedNode {
  std::string name;
  std::vector<int> devices = {};  ///< ascending
};

using DeepspeedNodes = std::vector<DeepspeedNode>;

constexpr int kLastCpu = (1 << 16) - 1;
constexpr int kLastDevice = 4095;

/// 0 to count-1.
std::vector<int> first_devices(int count) {
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// "0-3,6"
std::string device_list(const std::vector<int>& devices) {
  return fold_ints(std::set<int>(devices.begin(), devices.end()));
}

tl::unexpected<Error> refuse(std::string what, std::string hint) {
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

const DeepspeedNode* find_node(const DeepspeedNodes& nodes, const std::string& name) {
  const auto found = std::ranges::find(nodes, name, &DeepspeedNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

Result<void> check_named(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  for (const DeepspeedNode& each : named) {
    const DeepspeedNode* node = find_node(nodes, each.name);
    if (!node) return refuse("unknown host \"" + each.name + "\"", "use a host of the hostfile");
    for (const int device : each.devices) {
      if (std::ranges::find(node->devices, device) != node->devices.end()) continue;
      return refuse("unknown device \"" + std::to_string(device) + "\" of host " + each.name,
                    "use devices of " + device_list(node->devices));
    }
  }
  return {};
}

Result<DeepspeedNodes> at_least_one(DeepspeedNodes nodes) {
  std::erase_if(nodes, [](const DeepspeedNode& node) { return node.devices.empty(); });
  if (!nodes.empty()) return nodes;
  return refuse("all devices are excluded", "remove hosts or devices from the list");
}

/// Parses a file as grammars/launcher_job.h does. N slots are devices 0 to N-1.
Result<DeepspeedNodes> parse_deepspeed_hostfile(string_view text, const std::string& path) {
  const auto hosts = TRY(parse_slots_file(text, path));
  DeepspeedNodes nodes;
  for (const HostSlots& host : hosts) nodes.push_back({host.name, first_devices(host.slots)});
  return nodes;
}

/// Parses NAME[:DEVICE,...][@...]. A host without a list has no entries in `devices`: all devices.
Result<DeepspeedNodes> parse_node_list(string_view text) {
  DeepspeedNodes nodes;
  for (const std::string& item : split(text, '@')) {
    const size_t colon = std::min(item.find(':'), item.size());
    const std::string name = item.substr(0, colon);
    auto found = std::ranges::find(nodes, name, &DeepspeedNode::name);
    if (found == nodes.end()) found = nodes.insert(found, {name});
    if (colon == item.size()) continue;
    for (const std::string& part : split(string_view(item).substr(colon + 1), ',')) {
      const auto device = parse_int(trim(part), 0, kLastDevice);
      if (!device) return refuse("invalid device list \"" + item + "\": expected HOST:0,2@HOST2", "");
      found->devices.push_back(static_cast<int>(*device));
    }
    std::ranges::sort(found->devices);
    const auto repeated = std::ranges::unique(found->devices);
    found->devices.erase(repeated.begin(), repeated.end());
  }
  return nodes;
}

/// The named hosts and devices, in the order of `nodes`.
Result<DeepspeedNodes> include_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  TRY(check_named(nodes, named));
  DeepspeedNodes left;
  for (const DeepspeedNode& node : nodes) {
    const DeepspeedNode* chosen = find_node(named, node.name);
    if (chosen) left.push_back(chosen->devices.empty() ? node : *chosen);
  }
  return at_least_one(std::move(left));
}

/// `nodes` without the named hosts and devices.
Result<DeepspeedNodes> exclude_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  TRY(check_named(nodes, named));
  DeepspeedNodes left = nodes;
  for (DeepspeedNode& node : left) {
    const DeepspeedNode* out = find_node(named, node.name);
    if (!out) continue;
    std::erase_if(node.devices, [&](int device) {
      return out->devices.empty() || std::ranges::find(out->devices, device) != out->devices.end();
    });
  }
  return at_least_one(std::move(left));
}

/// Splits a list of CPUs into `parts` equal parts, in the form of --cpu-list: "0-4" in 2 parts is "p0-1/p2-3".
/// nullopt if `cpus` is not a list, or has fewer than `parts` CPUs.
std::optional<std::string> equal_parts(std::string_view cpus, size_t parts) {
  const auto list = parse_int_list(cpus, kLastCpu);
  const size_t each = list ? list->size() / parts : 0;
  if (each == 0) return std::nullopt;
  const std::vector<int> all(list->begin(), list->end());
  std::string text;
  for (size_t part = 0; part < parts; ++part) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(part * each);
    text += (part == 0 ? "p" : "/p") + fold_ints({first, first + static_cast<std::ptrdiff_t>(each)});
  }
  return text;
}

constexpr const char* kUsualHostfile = "/job/hostfile";
constexpr int kUsualPort = 29500;
constexpr string_view kVisible[] = {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"};

Result<DeepspeedNodes> with_where(Result<DeepspeedNodes> nodes, const ParsedOption& given) {
  if (!nodes && nodes.error().where.empty()) nodes.error().where = given.spelled;
  return nodes;
}

class DeepspeedJob {
 public:
  explicit DeepspeedJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    TRY(read_limits());
    TRY(read_hostfile());
    TRY(hosts_ ? use_hosts() : use_this_machine());
    TRY(add_logs());
    TRY(add_binding());
    return add_program();
  }

 private:
  /// The option if its value is not empty; else null.
  const ParsedOption* filled(string_view name) const {
    const ParsedOption* given = line_.find(name);
    return given && !given->value.empty() ? given : nullptr;
  }

  /// The option's limit; -1: unlimited.
  Result<int> limit(string_view name) const {
    const ParsedOption* given = line_.find(name);
    return given ? number_of(*given, -1, kMaxRanks) : Result<int>(-1);
  }

  Result<void> read_limits() {
    most_nodes_ = TRY(limit("num-nodes"));
    gpus_ = TRY(limit("num-gpus"));
    const ParsedOption* include = filled("include");
    const ParsedOption* exclude = filled("exclude");
    if (include && exclude) return refuse_conflict(*include, "--exclude", "", "remove one of them");
    const ParsedOption* filter = include ? include : exclude;
    if (filter && (most_nodes_ >= 0 || gpus_ >= 0)) {
      const char* const other = most_nodes_ >= 0 ? "--num_nodes" : "--num_gpus";
      return refuse_conflict(*filter, other, "both choose the devices", "remove one of them");
    }
    if (const ParsedOption* words = filled("launcher-args")) {
      return refuse_option(*words, "not supported: options of pdsh, mpirun or srun", "",
                           "use dlaunch's options: dlaunch --as deepspeed --label …");
    }
    return {};
  }

  /// Reads the file of --hostfile, or the default hostfile. Only the default hostfile may be missing.
  Result<void> read_hostfile() {
    const ParsedOption* given = line_.find("hostfile");
    const std::string name = given ? given->value : kUsualHostfile;
    const auto path = TRY(absolute_path(name, job_.context().cwd));
    const auto text = job_.context().read(path);
    if (!text && text.error().missing && !given) return {};
    if (!text) return fail(text.error().error);
    hosts_ = TRY(parse_deepspeed_hostfile(*text, name));
    return {};
  }

  Result<void> use_hosts() {
    for (const string_view name : kVisible) job_.forget(name);
    if (const ParsedOption* include = filled("include")) {
      const auto named = TRY(with_where(parse_node_list(include->value), *include));
      hosts_ = TRY(with_where(include_nodes(*hosts_, named), *include));
    }
    if (const ParsedOption* exclude = filled("exclude")) {
      const auto named = TRY(with_where(parse_node_list(exclude->value), *exclude));
      hosts_ = TRY(with_where(exclude_nodes(*hosts_, named), *exclude));
    }
    if (most_nodes_ > 0) hosts_->resize(std::min(hosts_->size(), static_cast<size_t>(most_nodes_)));
    for (DeepspeedNode& node : *hosts_) {
      if (gpus_ > 0) node.devices = first_devices(gpus_);
    }
    if (line_.find("no-ssh")) return use_nodes();
    if (const ParsedOption* rank = line_.find("node-rank"); rank && rank->value != "-1") {
      job_.note(rank->spelled + " changes nothing without --no_ssh");
    }
    if (hosts_->size() == 1 && !line_.find("force-multi")) {
      job_.note("the ranks start on this machine, as in DeepSpeed for one host; --force_multi starts the ranks on " +
                hosts_->front().name);
      add_devices(of_hosts(), hosts_->front().devices);
    } else {
      add_hosts();
      add_environment_files();
    }
    return add_master();
  }

  ParsedOption of_hosts() const { return line_.find("hostfile") ? *line_.find("hostfile") : job_.itself(); }

  void add_devices(const ParsedOption& given, const std::vector<int>& devices) {
    ranks_of_host_ = devices.size();
    job_.add(given, "N", std::to_string(devices.size()));
    job_.add(given, "devices", device_list(devices));
  }

  void add_hosts() {
    std::string list;
    std::string devices;
    ranks_of_host_ = hosts_->front().devices.size();
    for (const DeepspeedNode& node : *hosts_) {
      if (node.devices.size() != ranks_of_host_) ranks_of_host_ = 0;
      const size_t at = node.name.find('@') + 1;  // 0: no user
      std::string host = node.name.substr(at);
      if (host.find(':') != std::string::npos) host = "[" + host + "]";
      list += (list.empty() ? "" : ",") + node.name.substr(0, at) + host + ":" + std::to_string(node.devices.size());
      devices += (devices.empty() ? "" : "@") + host + ":" + device_list(node.devices);
    }
    job_.add(of_hosts(), "host", list);
    job_.add(of_hosts(), "include", devices);
  }

  /// With --no_ssh each node runs the same command line.
  Result<void> use_nodes() {
    const int nodes = static_cast<int>(hosts_->size());
    const ParsedOption& no_ssh = *line_.find("no-ssh");
    const ParsedOption* rank = line_.find("node-rank");
    if (!rank) {
      return refuse_without(no_ssh, "--node_rank", "each node runs the same command line", "add --node_rank I, from 0");
    }
    if (!parse_int(rank->value, 0, nodes - 1)) {
      return refuse_value(*rank, "node number", "0 to " + std::to_string(nodes - 1));
    }
    const std::vector<int>& devices = hosts_->front().devices;
    const bool alike = std::ranges::all_of(*hosts_, [&](const auto& node) { return node.devices == devices; });
    if (!alike) {
      return refuse_without(no_ssh, "the same devices on each host", "",
                            "remove --no_ssh: dlaunch then reaches all hosts by ssh");
    }
    add_devices(of_hosts(), devices);
    if (nodes == 1) return add_master();
    job_.add_nodes(no_ssh, std::to_string(nodes), rank);
    const ParsedOption* address = filled("master-addr");
    const ParsedOption* port = line_.find("master-port");
    int meets = kUsualPort;
    if (port) meets = TRY(number_of(*port, 1, kMostPort));
    job_.add(address ? *address : of_hosts(), "rendezvous",
             (address ? address->value : hosts_->front().name) + ":" + std::to_string(meets));
    return {};
  }

  Result<void> use_this_machine() {
    if (most_nodes_ > 1) {
      return refuse_without(*line_.find("num-nodes"), "a hostfile", "",
                            "add --hostfile FILE, with one line per host: node1 slots=8");
    }
    const ParsedOption* rank = line_.find("node-rank");
    if (line_.find("no-ssh") && !(rank && rank->value == "0")) {
      return refuse_without(*line_.find("no-ssh"), "--node_rank 0 or a hostfile", "",
                            "add --node_rank 0, or --hostfile FILE");
    }
    TRY(choose_devices());
    if (const ParsedOption* address = filled("master-addr")) {
      job_.note(address->spelled + " changes nothing here: ranks of one machine connect to 127.0.0.1");
    }
    return add_master();
  }

  /// As in DeepSpeed, a list in a kVisible variable replaces --include, and any option for devices overrides the list.
  Result<void> choose_devices() {
    const ParsedOption* include = filled("include");
    const ParsedOption* exclude = filled("exclude");
    for (const string_view name : kVisible) {
      const auto list = filled_variable(job_.context().environment, name);
      if (!list) continue;
      const auto node = parse_node_list("localhost:" + *list);
      if (!include && !exclude && gpus_ <= 0) {
        if (!node) break;  // UUIDs: the program reads the variable
        add_devices(job_.itself(), node->front().devices);
        job_.forget(name);
        return {};
      }
      job_.note(std::string(name) +
                " is ignored: --include, --exclude or --num_gpus chooses the devices, as in DeepSpeed");
      job_.forget(name);
    }
    if (gpus_ > 0) return add_devices(*line_.find("num-gpus"), first_devices(gpus_)), Result<void>();
    if (include) return include_here(*include);
    job_.add(job_.itself(), "n", "devices");
    if (exclude) job_.add(*exclude, "exclude", exclude->value);
    return {};
  }

  Result<void> include_here(const ParsedOption& include) {
    const auto named = TRY(with_where(parse_node_list(include.value), include));
    if (named.size() > 1 || named.front().name != "localhost") {
      return refuse_value(include, "host list", "localhost only; add --hostfile FILE for other hosts");
    }
    if (named.front().devices.empty()) return job_.add(include, "n", "devices"), Result<void>();
    return add_devices(include, named.front().devices), Result<void>();
  }

  Result<void> add_master() {
    const ParsedOption* address = hosts_ ? filled("master-addr") : nullptr;
    if (address) job_.add_variable(*address, "MASTER_ADDR", address->value);
    const ParsedOption* port = line_.find("master-port");
    if (!port) return {};
    TRY(number_of(*port, 1, kMostPort));
    return job_.add_variable(*port, "MASTER_PORT", port->value), Result<void>();
  }

  /// Ranks on other hosts get the current directory in PYTHONPATH, and the variables of .deepspeed_env files.
  void add_environment_files() {
    const ProcessContext& context = job_.context();
    const auto path = filled_variable(context.environment, "PYTHONPATH");
    job_.add_variable(job_.itself(), "PYTHONPATH", context.cwd + (path ? ":" + *path : ""));
    const std::string name = filled_variable(context.environment, "DS_ENV_FILE").value_or(".deepspeed_env");
    const auto home = filled_variable(context.environment, "HOME");
    std::vector<std::string> files;
    if (home && !name.starts_with('/')) files.push_back(*home + "/" + name);
    files.push_back(name.starts_with('/') ? name : context.cwd + "/" + name);
    for (const std::string& file : files) {
      if (context.read(file)) job_.add(job_.itself(), "env-file", file);
    }
  }

  Result<void> add_logs() {
    const ParsedOption* logs = filled("enable-each-rank-log");
    if (!logs || logs->value == "None") return {};
    job_.add(*logs, "output-filename",
             literal(logs->value) + "/" + job_.context().start_time + "_rank{rank}.log:nocopy");
    return {};
  }

  Result<void> add_binding() {
    const ParsedOption* bind = line_.find("bind-cores-to-rank");
    const ParsedOption* list = filled("bind-core-list");
    if (list && !bind) job_.note(list->spelled + " changes nothing without --bind_cores_to_rank");
    if (list && bind) return add_core_list(*list);
    if (bind) job_.add(*bind, "cores-per-rank", "share");
    return {};
  }

  Result<void> add_core_list(const ParsedOption& list) {
    if (ranks_of_host_ == 0) {
      return refuse_without(list, "the same number of ranks on each host", "", "set --num_gpus N");
    }
    const auto parts = equal_parts(list.value, ranks_of_host_);
    if (!parts) return refuse_value(list, "core list", "at least one core per rank of a host: 0-31,64-95");
    return job_.add(list, "cpu-list", *parts), Result<void>();
  }

  Result<void> add_program() {
    const ParsedOption* plain = line_.find("no-python");
    const ParsedOption* module = line_.find("module");
    if (plain && module) {
      return refuse_conflict(*module, "--no_python", "a module requires Python", "remove one of them");
    }
    return job_.set_program({.python = plain ? "" : job_.in_path({"python3", "python"}),
                             .module = module != nullptr,
                             .local_rank = !line_.find("no-local-rank")});
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  int most_nodes_ = -1;
  int gpus_ = -1;
  size_t ranks_of_host_ = 0;             // 0: unknown, or different between hosts
  std::optional<DeepspeedNodes> hosts_;  // nullopt: this machine only
};

}  // namespace

Result<void> make_deepspeed_job(LauncherJob& job) { return DeepspeedJob(job).make(); }

}  // namespace dlaunch::cli
