#include "allocate/resource_manager.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "allocate/host_name.h"
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

/// Expands "2(x3),1" to 2, 2, 2, 1.
Result<std::vector<int>> expand_counts(std::string_view name, const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : split(text, ',')) {
    const size_t open = part.find("(x");
    long times = 1;
    if (open != std::string::npos) {
      const auto read =
          part.ends_with(')') ? parse_int(part.substr(open + 2, part.size() - open - 3), 1, kMostHosts) : std::nullopt;
      if (!read) return wrong(name, "cannot be understood: \"" + text + "\"");
      times = *read;
    }
    const auto slots = parse_int(std::string_view(part).substr(0, open), 0, kMostSlots);
    if (!slots || counts.size() + static_cast<size_t>(times) > kMostHosts) {
      return wrong(name, "cannot be understood: \"" + text + "\"");
    }
    counts.insert(counts.end(), static_cast<size_t>(times), static_cast<int>(*slots));
  }
  return counts;
}

Result<std::vector<std::string>> expand_node_list(std::string_view name, const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& part : split_outside_brackets(text, ',')) {
    auto names = expand_names(part);
    if (!names) return wrong(name, "cannot be understood", names.error().what);
    hosts.insert(hosts.end(), names->begin(), names->end());
    if (hosts.size() > kMostHosts) return wrong(name, "more than " + std::to_string(kMostHosts) + " hosts");
  }
  return hosts;
}

/// Returns a number for each node; the variable may have one for all.
Result<std::vector<int>> slurm_counts(const Environment& environment, size_t hosts, std::string& from) {
  for (const std::string_view name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const auto text = variable(environment, name);
    if (!text) continue;
    from = name;
    auto counts = expand_counts(name, *text);
    if (counts && counts->size() != hosts) {
      return wrong(name, "has " + std::to_string(counts->size()) + " numbers for " + std::to_string(hosts) + " nodes",
                   *text);
    }
    return counts;
  }
  from = "SLURM_CPUS_ON_NODE";
  const auto text = variable(environment, from);
  const auto each = text ? parse_int(*text, 1, kMostSlots) : std::nullopt;
  if (!each) return wrong("Slurm", "does not say how many tasks a node has", "SLURM_TASKS_PER_NODE is not set");
  return std::vector<int>(hosts, static_cast<int>(*each));
}

Result<Entries> slurm(const Environment& environment, std::string_view name, const std::string& list) {
  const auto names = TRY(expand_node_list(name, list));
  std::string from;
  const auto counts = TRY(slurm_counts(environment, names.size(), from));
  Entries entries(names.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].name = (names)[i];
    entries[i].slots = (counts)[i];
    entries[i].from = from;
  }
  return entries;
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

bool has_resource_manager(const Environment& environment) {
  return std::ranges::any_of(std::array{"SLURM_JOB_NODELIST", "SLURM_NODELIST", "PBS_NODEFILE", "LSB_MCPU_HOSTS"},
                             [&](const char* name) { return filled_variable(environment, name).has_value(); });
}

Result<std::optional<Entries>> read_resource_manager(const Environment& environment, const ReadText& read_file) {
  Result<Entries> entries;
  if (const auto nodes = filled_variable(environment, "SLURM_JOB_NODELIST")) {
    entries = slurm(environment, "SLURM_JOB_NODELIST", *nodes);
  } else if (const auto old = filled_variable(environment, "SLURM_NODELIST")) {
    entries = slurm(environment, "SLURM_NODELIST", *old);
  } else if (const auto path = filled_variable(environment, "PBS_NODEFILE")) {
    entries = pbs(*path, read_file);
  } else if (const auto pairs = filled_variable(environment, "LSB_MCPU_HOSTS")) {
    entries = lsf(*pairs);
  } else {
    return std::optional<Entries>();
  }
  return std::optional(TRY(std::move(entries)));
}

}  // namespace dlaunch::allocate
