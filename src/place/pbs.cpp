// PBS (OpenPBS, PBS Professional, Torque): PBS_NODEFILE has one name for each slot. Pure, except for `read_file`.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"
#include "place/manager_row.h"

namespace dlaunch::place {
namespace {

constexpr const char* kNodes = "PBS_NODEFILE";

std::optional<std::string> job(const Environment& environment) {
  if (!filled_variable(environment, kNodes)) return std::nullopt;
  return filled_variable(environment, "PBS_JOBID").value_or("");
}

/// Adds the devices of Torque's PBS_GPUFILE (one line "HOST-gpuN" per device of the job) to the first entry of each
/// host. An empty or missing file is ignored: the variable is also set in jobs without GPUs. Any other unreadable file
/// is an Error.
Result<Entries> with_gpus(Entries entries, const Environment& environment, const hosts::ReadText& read_file) {
  constexpr const char* kVariable = "PBS_GPUFILE";
  constexpr std::string_view kMark = "-gpu";
  const auto file = filled_variable(environment, kVariable);
  const auto text = file ? read_file(*file) : std::string();
  const bool missing = !text && text.error().why == std::strerror(ENOENT);
  if (!text && !missing) return wrong_list(kVariable, "cannot read " + *file, text.error().why);
  const std::vector<std::string> words = blank_separated(text ? *text : "");
  if (words.empty()) return entries;
  std::map<std::string, hosts::HostEntry*, std::less<>> hosts;
  for (hosts::HostEntry& entry : entries) {
    const bool is_first = hosts.emplace(entry.name, &entry).second;
    if (is_first) entry.devices.emplace();
  }
  for (const std::string_view word : words) {
    const size_t mark = word.rfind(kMark);
    const auto device =
        mark == word.npos ? std::nullopt : parse_int(word.substr(mark + kMark.size()), 0, hosts::kMostSlots);
    const auto host = hosts.find(word.substr(0, mark));
    if (!device) return wrong_list(kVariable, "invalid entry \"" + escaped(word) + '"');
    if (host == hosts.end())
      return wrong_list(kVariable, "unknown host in \"" + escaped(word) + "\": not in PBS_NODEFILE");
    host->second->devices->push_back(static_cast<int>(*device));
  }
  for (const auto& [name, entry] : hosts) std::ranges::sort(*entry->devices);
  return entries;
}

Result<Entries> hosts_of_job(const Environment& environment, const hosts::ReadText& read_file) {
  Entries entries = TRY(read_node_file(kNodes, environment, read_file));
  return with_gpus(std::move(entries), environment, read_file);
}

std::optional<Error> unlisted(const Environment& environment) {
  return unlisted_job(environment,
                      {.manager = "PBS", .number = "PBS_JOBID", .proofs = {"PBS_ENVIRONMENT"}, .list = kNodes});
}

std::string program_path(std::string_view name, const Environment& environment) {
  const std::string exec = filled_variable(environment, "PBS_EXEC").value_or("");
  return name.starts_with("pbs") && !exec.empty() ? exec + "/bin/" + std::string(name) : std::string(name);
}

/// The cache directory of the bootstrap script on a node, if the node has our variables; empty: unknown.
std::string cache_directory(const Environment& environment) {
  const std::string cache = filled_variable(environment, "XDG_CACHE_HOME").value_or("");
  if (cache.starts_with('/')) return cache + "/dlaunch";
  const std::string home = filled_variable(environment, "HOME").value_or("");
  return home.empty() ? "" : home + "/.cache/dlaunch";
}

/// The stdin of a task is /dev/null, and its output goes to the job's output; with PALS, only the first task has a
/// stdin. pbs_tmrsh, pbsdsh and aprun start the words of a task without a shell. pbsdsh counts the lines of the job's
/// node list.
std::optional<DialIn> dial_in(const Environment& environment, const std::string& program, const StepGpus&) {
  const std::string name = program.substr(program.rfind('/') + 1);
  const std::string files = cache_directory(environment);
  if (name == "aprun") {
    return DialIn{.command = shell_quote(program) + " -n {count} -N 1 --cc none -L {hosts}",
                  .own_name = R"sh($(sed -n "$((PALS_NODEID + 1))p" "$0/names"))sh",
                  .files_in = files};
  }
  const std::string_view words = name == "pbsdsh" ? " {step} --" : " {host}";
  return DialIn{.command = shell_quote(program) + std::string(words), .own_name = "$1", .files_in = files};
}

Setting kill_wait(const Environment& environment) {
  const auto queue = filled_variable(environment, "PBS_QUEUE");
  return queue ? Setting{.command = "qstat -Qf " + shell_quote(*queue)} : Setting{};
}

constexpr std::array<std::string_view, 1> kOfPals = {"aprun"};
constexpr std::array<std::string_view, 2> kOfPbs = {"pbs_tmrsh", "pbsdsh"};
constexpr std::array<Way, 2> kWays = {{{"pals", kOfPals}, {"pbs", kOfPbs}}};

/// The seconds between TERM and KILL of PBS, from the output of `qstat -Qf QUEUE`. nullopt: the queue does not set
/// kill_delay.
std::optional<int> pbs_kill_delay(std::string_view queue) {
  constexpr std::string_view kName = "kill_delay";
  constexpr long kMost = 65535;
  for (const std::string& line : split(queue, '\n')) {
    const size_t sign = line.find('=');
    if (sign == std::string::npos || trim(std::string_view(line).substr(0, sign)) != kName) continue;
    const auto seconds = parse_int(trim(std::string_view(line).substr(sign + 1)), 0, kMost);
    return seconds ? std::optional(static_cast<int>(*seconds)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

constinit const ManagerRow kPbs = {.name = "PBS",
                                   .job = job,
                                   .hosts = hosts_of_job,
                                   .unlisted = unlisted,
                                   .ways = kWays,
                                   .outside = "not in a PBS job",
                                   .start_in = "start dlaunch in a job that qsub started",
                                   .program_path = program_path,
                                   .dial_in = dial_in,
                                   .says_devices = lists_devices,
                                   .kill_wait = kill_wait,
                                   .kill_wait_in = pbs_kill_delay};

}  // namespace dlaunch::place
