#include "grammars/horovodrun/horovodrun.h"

#include <algorithm>
#include <cctype>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "grammars/arguments.h"
#include "grammars/launcher_job.h"
#include "grammars/slots_file.h"
#include "place/variables.h"

namespace dlaunch::cli {
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
    auto arguments = parse_arguments(words);
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
