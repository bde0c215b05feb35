// Reads an LSF job from its variables and files. Pure, except for `read_file`. The hosts come from the first variable
// of this list that is set and not empty:
//
// - LSB_AFFINITY_HOSTFILE: a file with one line per rank: "host cpus", and two more columns for memory binding.
// - LSB_MCPU_HOSTS: "host slots host slots …".
// - LSB_DJOB_HOSTFILE: a file with one host name per slot.
// - LSB_HOSTS: the same host names in the variable. LSF does not set this variable in large jobs.
#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"
#include "place/manager_row.h"

namespace dlaunch::place {
namespace {

constexpr const char* kLsfAffinity = "LSB_AFFINITY_HOSTFILE";
constexpr int kMostCpu = (1 << 16) - 1;

Result<std::vector<hosts::HostEntry>> hosts_with_slots(const std::string& text) {
  const std::vector<std::string> words = blank_separated(text);
  std::vector<ListedHost> hosts;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto slots = parse_int(words[i + 1], 0, hosts::kMostSlots);
    if (!slots) return wrong_list("LSB_MCPU_HOSTS", "invalid number of slots \"" + words[i + 1] + "\"");
    hosts.push_back({words[i], static_cast<int>(*slots)});
  }
  if (words.size() % 2 != 0) return wrong_list("LSB_MCPU_HOSTS", "missing number of slots of the last host");
  return listed_entries(hosts, "LSB_MCPU_HOSTS");
}

std::optional<std::string> job(const Environment& environment) {
  constexpr std::array<const char*, 3> kLists = {"LSB_MCPU_HOSTS", "LSB_DJOB_HOSTFILE", "LSB_HOSTS"};
  const bool has_list =
      std::ranges::any_of(kLists, [&](const char* name) { return filled_variable(environment, name).has_value(); });
  if (!has_list) return std::nullopt;
  return filled_variable(environment, "LSB_JOBID").value_or("");
}

Result<Entries> hosts_of_job(const Environment& environment, const hosts::ReadText& read_file) {
  if (filled_variable(environment, kLsfAffinity)) {
    const std::string text = TRY(read_named_file(kLsfAffinity, environment, read_file));
    std::vector<ListedHost> hosts;
    for (const std::string& line : split(text, '\n')) {
      std::vector<std::string> words = blank_separated(line);
      if (!words.empty()) hosts.push_back({std::move(words[0])});
    }
    if (!hosts.empty()) return listed_entries(hosts, kLsfAffinity);
  }
  if (const auto text = filled_variable(environment, "LSB_MCPU_HOSTS")) return hosts_with_slots(*text);
  if (filled_variable(environment, "LSB_DJOB_HOSTFILE")) {
    const std::string text = TRY(read_named_file("LSB_DJOB_HOSTFILE", environment, read_file));
    return listed_entries(one_slot_each(blank_separated(text)), "LSB_DJOB_HOSTFILE");
  }
  const auto text = filled_variable(environment, "LSB_HOSTS");
  return listed_entries(one_slot_each(blank_separated(text.value_or(""))), "LSB_HOSTS");
}

std::optional<Error> unlisted(const Environment& environment) {
  return unlisted_job(environment, {.manager = "LSF", .number = "LSB_JOBID", .list = "LSB_MCPU_HOSTS"});
}

std::optional<Attempt> attempt(const Environment& environment) {
  if (!variable(environment, "LSB_JOBID")) return std::nullopt;
  return uncounted_attempt(variable(environment, "LSB_RESTART") == "Y");
}

std::string program_path(std::string_view name, const Environment& environment) {
  const auto directory = filled_variable(environment, "LSF_BINDIR");
  return directory ? *directory + '/' + std::string(name) : std::string(name);
}

std::string command(const Environment&, const std::string& program, const StepGpus&) {
  return shell_quote(program) + " {host}";
}

constexpr std::array<std::string_view, 1> kPrograms = {"blaunch"};
constexpr std::array<Way, 1> kWays = {{{"lsf", kPrograms}}};

/// The host and the CPUs of each rank in LSB_AFFINITY_HOSTFILE, in the order of its lines. Empty if the variable
/// is not set, or if a line has no CPUs. Ignores memory policies; LSF applies them.
Result<std::vector<plan::RankPlace>> lsf_rank_places(const std::vector<std::string>& environment,
                                                     const hosts::ReadText& read_file) {
  std::vector<plan::RankPlace> places;
  if (!filled_variable(environment, kLsfAffinity)) return places;
  const std::string text = TRY(read_named_file(kLsfAffinity, environment, read_file));
  bool all = true;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = blank_separated(line);
    if (words.empty()) continue;
    plan::RankPlace place{.rank = static_cast<int>(places.size()), .host = words[0], .from = kLsfAffinity};
    if (words.size() > 1) {
      const auto cpus = parse_int_list(words[1], kMostCpu);
      if (!cpus) return wrong_list(kLsfAffinity, "invalid line \"" + escaped(line) + '"');
      place.slots = "p" + fold_ints(*cpus);  // in the kernel's numbering
    }
    all = all && !place.slots.empty();
    places.push_back(std::move(place));
  }
  if (!all) places.clear();
  return places;
}

}  // namespace

constinit const ManagerRow kLsf = {.name = "LSF",
                                   .job = job,
                                   .hosts = hosts_of_job,
                                   .unlisted = unlisted,
                                   .rank_places = lsf_rank_places,
                                   .attempt = attempt,
                                   .ways = kWays,
                                   .outside = "not in an LSF job",
                                   .start_in = "start dlaunch in a job that bsub started",
                                   .program_path = program_path,
                                   .command = command,
                                   .says_devices = lists_devices};

}  // namespace dlaunch::place
