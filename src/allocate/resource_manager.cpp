#include "allocate/resource_manager.h"

#include <algorithm>
#include <cctype>

#include "allocate/host_name.h"
#include "allocate/slurm.h"
#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::allocate {
namespace {

using Entries = std::vector<HostEntry>;
using Environment = std::vector<std::string>;

constexpr std::string_view kHint = "name the hosts with -H or --hostfile, or add --ignore-resource-manager";

tl::unexpected<Error> wrong(std::string_view where, std::string what, std::string why = {}) {
  return fail(
      {.where = std::string(where), .what = std::move(what), .why = std::move(why), .hint = std::string(kHint)});
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  std::string word;
  for (const char c : std::string(text) + ' ') {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
    } else if (!word.empty()) {
      list.push_back(std::move(word));
      word.clear();
    }
  }
  return list;
}

Result<Entries> named(const std::vector<std::string>& names, const std::vector<int>& slots, const std::string& from) {
  Entries entries(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (auto ok = check_host_name(names[i]); !ok) return wrong(from, "cannot be understood", ok.error().what);
    entries[i].name = names[i];
    entries[i].slots = slots[i];
    entries[i].from = from;
  }
  if (entries.empty()) return wrong(from, "names no host");
  if (entries.size() > kMostSlots) return wrong(from, "names too many hosts");
  return entries;
}

Result<Entries> pbs(const std::string& path, const ReadText& read_file) {
  const auto text = read_file(path);
  if (!text) return wrong("PBS_NODEFILE", "cannot be read", text.error().where + ": " + text.error().why);
  const std::vector<std::string> names = words(*text);
  return named(names, std::vector<int>(names.size(), 1), "PBS_NODEFILE");
}

Result<Entries> lsf(const std::string& text) {
  const std::vector<std::string> pairs = words(text);
  std::vector<std::string> names;
  std::vector<int> slots;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const auto number = parse_int(pairs[i + 1], 0, kMostSlots);
    if (!number) return wrong("LSB_MCPU_HOSTS", "cannot be understood: \"" + pairs[i + 1] + "\" is no number");
    names.push_back(pairs[i]);
    slots.push_back(static_cast<int>(*number));
  }
  if (pairs.size() % 2 != 0) return wrong("LSB_MCPU_HOSTS", "cannot be understood", "a host without its slots");
  return named(names, slots, "LSB_MCPU_HOSTS");
}

}  // namespace

std::optional<plan::Manager> manager_of(const Environment& environment) {
  using Kind = plan::Manager::Kind;
  if (const auto job = slurm_job(environment)) return plan::Manager{Kind::slurm, *job};
  if (filled_variable(environment, "PBS_NODEFILE")) {
    return plan::Manager{Kind::pbs, filled_variable(environment, "PBS_JOBID").value_or("")};
  }
  if (filled_variable(environment, "LSB_MCPU_HOSTS")) {
    return plan::Manager{Kind::lsf, filled_variable(environment, "LSB_JOBID").value_or("")};
  }
  return std::nullopt;
}

Result<Entries> read_resource_manager(const plan::Manager& manager, const Environment& environment,
                                      const ReadText& read_file) {
  switch (manager.kind) {
    case plan::Manager::Kind::slurm:
      return read_slurm(environment);
    case plan::Manager::Kind::pbs:
      return pbs(filled_variable(environment, "PBS_NODEFILE").value_or(""), read_file);
    case plan::Manager::Kind::lsf:
      return lsf(filled_variable(environment, "LSB_MCPU_HOSTS").value_or(""));
  }
  return Entries{};
}

std::optional<Error> refuse_copies(const plan::Manager& manager, const Environment& environment) {
  const int copies = manager.kind == plan::Manager::Kind::slurm ? slurm_copies(environment) : 1;
  if (copies == 1) return std::nullopt;
  return Error{
      .where = plan::to_string(manager),
      .what = "srun started " + std::to_string(copies) + " copies of dlaunch, and each would run the whole job",
      .why = "",
      .hint = "start it without srun, or by srun -n 1; --ignore-resource-manager runs a job in each copy"};
}

}  // namespace dlaunch::allocate
