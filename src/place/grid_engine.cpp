// Grid Engine: PE_HOSTFILE, in a job of a parallel environment. Pure, except for `read_file`.
#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"
#include "place/manager_row.h"

namespace dlaunch::place {
namespace {

constexpr const char* kHosts = "PE_HOSTFILE";
constexpr const char* kRoot = "SGE_ROOT";
constexpr const char* kJob = "JOB_ID";

std::optional<std::string> job(const Environment& environment) {
  if (!filled_variable(environment, kHosts) || !filled_variable(environment, kRoot)) return std::nullopt;
  std::string number = filled_variable(environment, kJob).value_or("");
  const std::string task = filled_variable(environment, "SGE_TASK_ID").value_or("undefined");
  return task == "undefined" ? number : number + '.' + task;
}

Result<Entries> hosts_of_job(const Environment& environment, const hosts::ReadText& read_file) {
  const std::string text = TRY(read_named_file(kHosts, environment, read_file));
  std::vector<ListedHost> hosts;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = blank_separated(line);
    if (words.empty()) continue;
    const auto slots = words.size() > 1 ? parse_int(words[1], 0, hosts::kMostSlots) : std::nullopt;
    if (!slots) return wrong_list(kHosts, "missing number of slots in a line");
    hosts.push_back({words[0], static_cast<int>(*slots)});
  }
  return listed_entries(hosts, kHosts);
}

/// Login shells have SGE_ROOT, too. A job of one host may have no parallel environment.
std::optional<Error> unlisted(const Environment& environment) {
  const auto is_set = [&](const char* name) { return filled_variable(environment, name).has_value(); };
  if (is_set(kHosts) && !is_set(kRoot)) {
    return wrong_list(kRoot, "not set",
                      "PE_HOSTFILE shows a job of Grid Engine, but dlaunch requires SGE_ROOT to find the programs of "
                      "Grid Engine")
        .value();
  }
  if (is_set(kHosts) || !is_set(kRoot) || !is_set(kJob)) return std::nullopt;
  const auto hosts = parse_int(filled_variable(environment, "NHOSTS").value_or(""), 2, hosts::kMostSlots);
  if (!hosts) return std::nullopt;
  return wrong_list(kHosts, "not set",
                    "JOB_ID and NHOSTS=" + std::to_string(*hosts) + " show a job of Grid Engine but no host list")
      .value();
}

std::optional<Attempt> attempt(const Environment& environment) {
  if (!variable(environment, kRoot) || !variable(environment, kJob)) return std::nullopt;
  return uncounted_attempt(whole_number(variable(environment, "RESTARTED").value_or("")).value_or(0) > 0);
}

std::optional<PlannedEnd> preemption(const Environment& environment) {
  const auto queue = filled_variable(environment, "QUEUE");
  const bool in_job = filled_variable(environment, kRoot) && filled_variable(environment, kJob);
  if (!in_job || !queue) return std::nullopt;
  return PlannedEnd{.grace_command = "qconf -sq " + shell_quote(*queue)};
}

/// The seconds between USR2 and KILL of a job with `-notify`, from the output of `qconf -sq QUEUE`. nullopt: no limit,
/// or no value for all hosts.
std::optional<int> grid_engine_notify(std::string_view queue) {
  constexpr std::string_view kName = "notify ";
  constexpr long kMost = 65535;
  for (const std::string& line : split(queue, '\n')) {
    if (!line.starts_with(kName)) continue;
    long seconds = 0;
    for (const std::string& part : split(trim(std::string_view(line).substr(kName.size())), ':')) {
      const auto number = parse_int(part, 0, kMost);
      if (!number) return std::nullopt;
      seconds = std::min(kMost, 60 * seconds + *number);
    }
    return static_cast<int>(seconds);
  }
  return std::nullopt;
}

std::optional<std::chrono::seconds> grace_in(std::string_view queue) {
  const auto seconds = grid_engine_notify(queue);
  return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

std::string program_path(std::string_view name, const Environment& environment) {
  const std::string root = filled_variable(environment, kRoot).value_or("");
  const std::string machine = filled_variable(environment, "ARC").value_or("");
  if (root.empty() || machine.empty()) return std::string(name);
  return root + "/bin/" + machine + '/' + std::string(name);
}

/// qrsh (8.1.9) has these limits. More than 64 KiB of stdin before the program's first output block qrsh forever: the
/// script of bootstrap.h is smaller, and further bytes follow an answer. Output written just before a program's exit
/// may be lost: an agent stays until the launcher has received all bytes (agent.h). If a signal ends qrsh, Grid Engine
/// ends the whole job: the launcher does not signal qrsh, and qrsh ignores SIGPIPE.
std::string command(const Environment&, const std::string& program, const StepGpus&) {
  return "sh -c 'trap \"\" PIPE; exec \"$0\" -inherit \"$@\"' " + shell_quote(program) + " {host}";
}

std::string_view hint(std::string_view line) {
  if (!line.starts_with("error: executing task of job ") || !line.ends_with("didn't accept task")) return "";
  return "check with qconf -sp that control_slaves is TRUE in the parallel environment, or use --transport ssh";
}

constexpr std::array<std::string_view, 1> kPrograms = {"qrsh"};
constexpr std::array<Way, 1> kWays = {{{"sge", kPrograms}}};

}  // namespace

constinit const ManagerRow kGridEngine = {.name = "Grid Engine",
                                          .job = job,
                                          .hosts = hosts_of_job,
                                          .unlisted = unlisted,
                                          .attempt = attempt,
                                          .ways = kWays,
                                          .outside = "not in a job of a parallel environment of Grid Engine",
                                          .start_in = "start dlaunch in a job that qsub -pe started",
                                          .signal_ends_job = true,
                                          .program_path = program_path,
                                          .command = command,
                                          .hint = hint,
                                          .says_devices = lists_devices,
                                          .preemption = preemption,
                                          .grace_in = grace_in};

}  // namespace dlaunch::place
