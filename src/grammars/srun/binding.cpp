#include <algorithm>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr int kMostCpu = 100'000;
constexpr int kHexBase = 16;
constexpr int kBitsOfDigit = 4;

/// Splits a list at commas; "0x3*2" is "0x3" twice.
Result<std::vector<std::string>> repeated_words(const ParsedOption& given, string_view list) {
  std::vector<std::string> all;
  for (const std::string& part : split(list, ',')) {
    const size_t star = part.find('*');
    const auto times = star == part.npos ? 1 : parse_int(string_view(part).substr(star + 1), 1, kMostCpu);
    if (!times || part.empty()) return refuse_value(given, "list", "0,1,2 or 0*4,1*4");
    all.insert(all.end(), static_cast<size_t>(*times), part.substr(0, star));
  }
  return all;
}

/// The CPUs of a hexadecimal mask as a slot list: "0x0f" is "p0,p1,p2,p3". nullopt if invalid or 0.
std::optional<std::string> cpus_of_mask(string_view mask) {
  if (mask.starts_with("0x") || mask.starts_with("0X")) mask.remove_prefix(2);
  std::string cpus;
  for (size_t i = 0; i < mask.size(); ++i) {
    const char digit = mask[mask.size() - 1 - i];
    const string_view digits = "0123456789abcdef";
    const size_t value = digits.find(static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit));
    if (value >= kHexBase) return std::nullopt;
    for (size_t bit = 0; bit < kBitsOfDigit; ++bit) {
      if ((value >> bit & 1U) != 0) cpus += (cpus.empty() ? "p" : ",p") + std::to_string(i * kBitsOfDigit + bit);
    }
  }
  return cpus.empty() ? std::nullopt : std::optional(cpus);
}

class SrunBinding {
 public:
  explicit SrunBinding(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> add() {
    TRY(read_cpus());
    TRY(read_cpu_bind());
    TRY(add_devices());
    TRY(check_device_counts());
    return add_binding();
  }

 private:
  /// A Slurm CPU is a hardware thread, or a core with nomultithread, compute_bound or --threads-per-core=1.
  Result<void> read_cpus() {
    if (const ParsedOption* hint = line_.find("hint")) {
      const std::string how = lower_case(hint->value);
      if (how == "nomultithread" || how == "compute_bound") {
        cores_ = true;
        if (how == "compute_bound") unit_ = "core";
      } else if (how != "multithread") {
        return refuse_value(*hint, "hint", "nomultithread, multithread or compute_bound");
      }
    }
    if (const ParsedOption* threads = line_.find("threads-per-core")) {
      const int number = TRY(number_of(*threads, 1, kMostCpu));
      cores_ |= number == 1;
    }
    const ParsedOption* cpus = line_.find("cpus-per-task");
    if (!cpus) return {};
    each_ = TRY(number_of(*cpus, 1, kMaxRanks));
    job_.add_variable(*cpus, "SLURM_CPUS_PER_TASK", cpus->value);
    return {};
  }

  Result<void> read_cpu_bind() {
    const ParsedOption* given = line_.find("cpu-bind");
    if (!given) return {};
    std::string rest;
    bool verbose = false;
    for (const std::string& word : split(lower_case(given->value), ',')) {  // verbose and quiet are valid at any place
      const bool told = word == "v" || word == "verbose";
      verbose = verbose || told;
      if (!told && word != "q" && word != "quiet") rest += (rest.empty() ? "" : ",") + word;
    }
    if (verbose) job_.add(*given, "report-bindings");
    if (rest.empty()) return {};
    const string_view how = rest;
    constexpr std::pair<string_view, string_view> kUnits[] = {
        {"none", "none"},       {"no", "none"},    {"rank", "hwthread"}, {"threads", "hwthread"},
        {"thread", "hwthread"}, {"cores", "core"}, {"core", "core"},     {"sockets", "socket"},
        {"socket", "socket"},   {"ldoms", "numa"}, {"ldom", "numa"},     {"rank_ldom", "numa"}};
    const auto* const unit = std::ranges::find(kUnits, how, &std::pair<string_view, string_view>::first);
    if (unit != std::end(kUnits)) {
      unit_ = unit->second;
      spelled_ = given;
      return {};
    }
    const bool mask = how.starts_with("mask_cpu:");
    if (!mask && !how.starts_with("map_cpu:")) {
      return refuse_value(*given, "binding",
                          "none, threads, cores, sockets, ldoms, rank, map_cpu:LIST or mask_cpu:LIST");
    }
    if (!given->spelled.starts_with('-')) {  // from the variable of an interactive step
      job_.note(given->spelled + " " + std::string(how) +
                " changes nothing here: the mask is for the shell of the step");
      return {};
    }
    return read_list(*given, how.substr(how.find(':') + 1), mask);
  }

  Result<void> read_list(const ParsedOption& given, string_view list, bool mask) {
    std::string turns;
    const auto parts = TRY(repeated_words(given, list));
    for (const std::string& part : parts) {
      const auto cpu = parse_int(part, 0, kMostCpu);
      const auto cpus = mask ? cpus_of_mask(part) : cpu ? std::optional("p" + part) : std::nullopt;
      if (!cpus) return refuse_value(given, "CPU list", "map_cpu:0,4 or mask_cpu:0x3,0xc");
      turns += (turns.empty() ? "" : "/") + *cpus;
    }
    listed_ = true;
    return job_.add(given, "cpu-list", std::move(turns)), Result<void>();
  }

  Result<void> add_devices() {
    const ParsedOption* bind = line_.find("gpu-bind");
    const ParsedOption* each = srun_gpus_per_task(line_);
    const ParsedOption* share = line_.find("ntasks-per-gpu");
    if (each && srun_gpus(each->value) != 1) return {};  // add_srun_gpus()
    if (share && share->value != "1" && !bind) {
      return refuse_option(*share, "not supported: several ranks per device", "",
                           "remove the option: ranks then see all devices of their node");
    }
    if (bind) return add_gpu_bind(*bind);
    if (each || share) show_own(each ? *each : *share);
    return {};
  }

  /// Each rank sees only its own device. dlaunch does not query the nodes of a Slurm job for devices, so --devices is
  /// set from the number that the options or Slurm's variables state.
  void show_own(const ParsedOption& given) {
    job_.add(given, "visible", "rank");
    if (!slurm_job(job_)) return;
    std::optional<int> number;
    for (const char* name : {"gres", "gpus-per-node"}) {
      if (const ParsedOption* said = line_.find(name)) number = srun_gpus(said->value);
    }
    for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}) {
      const auto said = filled_variable(job_.context().environment, name);
      if (said && !number) number = srun_gpus(*said);
    }
    if (number.value_or(0) > 0) job_.add(given, "devices", "0-" + std::to_string(*number - 1));
  }

  Result<void> add_gpu_bind(const ParsedOption& given) {
    string_view how = given.value;
    if (how.starts_with("verbose,") || how.starts_with("v,")) how.remove_prefix(how.find(',') + 1);
    if (how == "none") return {};
    if (how == "per_task:1" || how == "single:1") return show_own(given), Result<void>();
    if (how == "closest") {
      show_own(given);
      near_device_ = &given;
      return {};
    }
    const bool mask = how.starts_with("mask_gpu:");
    if (!mask && !how.starts_with("map_gpu:")) {
      return refuse_value(given, "device binding", "none, closest, single:1, per_task:1 or map_gpu:LIST");
    }
    std::string devices;
    const auto parts = TRY(repeated_words(given, how.substr(how.find(':') + 1)));
    for (const std::string& part : parts) {
      const auto bits = mask ? cpus_of_mask(part) : std::optional<std::string>();
      if (bits && bits->find(',') != std::string::npos) {
        return refuse_value(given, "device binding", "one device per rank: map_gpu:0,1,2,3");
      }
      const std::string device = bits ? bits->substr(1) : part;
      if (mask != bits.has_value() || !parse_int(device, 0, kMostCpu)) {
        return refuse_value(given, "device list", "map_gpu:0,1,2,3");
      }
      devices += (devices.empty() ? "" : ",") + device;
    }
    job_.add(given, "devices", std::move(devices));
    return job_.add(given, "visible", "rank"), Result<void>();
  }

  /// Rejects fewer devices than the job has on a node: ranks see all of them.
  Result<void> check_device_counts() {
    const auto there = filled_variable(job_.context().environment, "SLURM_GPUS_ON_NODE");
    for (const char* name : {"gpus", "gpus-per-node", "gres"}) {
      const ParsedOption* given = line_.find(name);
      if (!given || (given->spec->name() == "gres" && !given->value.starts_with("gpu"))) continue;
      const auto number = srun_gpus(given->value);
      if (!number) return refuse_value(*given, "number of devices", "4, or gpu:4 with --gres");
      if (*number == 0) {
        job_.add_variable(*given, "CUDA_VISIBLE_DEVICES", "");
        continue;
      }
      const auto all = parse_int(there.value_or(""), 1, kMostCpu);
      if (all && *number < *all && given->spec->name() != "gpus") {
        return refuse_option(
            *given, "not supported: the job has " + *there + " devices on each node, and ranks see all of them", "",
            "use dlaunch's --devices 0-" + std::to_string(*number - 1) + " --visible host before srun's options");
      }
      job_.note(given->spelled + " changes nothing here: ranks see all devices of the job on their node");
    }
    return {};
  }

  Result<void> add_binding() {
    const ParsedOption* cpus = line_.find("cpus-per-task");
    const ParsedOption from = spelled_ ? *spelled_ : cpus ? *cpus : job_.itself();
    if (listed_ || unit_ == "none") return {};
    if (near_device_) {
      if (cpus) job_.note(cpus->spelled + " changes nothing here: a rank is bound to all cores near its device");
      return job_.add(*near_device_, "bind-to", "device"), Result<void>();
    }
    const bool wide = each_ > 1 && unit_ != "socket" && unit_ != "numa";
    if (wide) {
      job_.add(*cpus, "cores-per-rank", cpus->value);
      unit_ = cores_ ? "core" : "hwthread";
    }
    if (unit_.empty()) return {};
    if (cores_ && unit_ == "hwthread") unit_ = "core";
    return job_.add(from, "bind-to", std::string(unit_) + (spelled_ ? "" : ":if-supported")), Result<void>();
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  const ParsedOption* spelled_ = nullptr;  ///< --cpu-bind
  const ParsedOption* near_device_ = nullptr;
  string_view unit_;
  bool cores_ = false;
  bool listed_ = false;
  int each_ = 1;
};

}  // namespace

Result<void> add_srun_binding(LauncherJob& job) { return SrunBinding(job).add(); }

}  // namespace dlaunch::cli
