#include "place/slurm_tres.h"

#include <algorithm>

#include "base/text.h"

namespace dlaunch::place {
namespace {

constexpr long kMost = 1'000'000;

/// An entry of a list: "gres/gpu:a100=2" has the kind "gres", the name "gpu:a100" and the number "2".
struct Entry {
  std::string kind;
  std::string name;
  std::optional<std::string> number;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Entry entry_of(std::string_view text) {
  Entry entry;
  const size_t equals = text.rfind('=');
  const size_t colon = text.rfind(':');
  if (equals != text.npos) {
    entry.number = std::string(text.substr(equals + 1));
    text = text.substr(0, equals);
  } else if (colon != text.npos && is_number(text.substr(colon + 1))) {
    entry.number = std::string(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  const size_t end = text.find_first_of("/:");
  entry.kind = std::string(text.substr(0, end));
  if (end != text.npos) entry.name = std::string(text.substr(end + 1));
  return entry;
}

bool is_gpu(const Entry& entry) {
  return entry.kind == "gres" && (entry.name == "gpu" || entry.name.starts_with("gpu:"));
}

std::optional<long> number_of(const Entry& entry, long least) {
  return entry.number ? parse_int(*entry.number, least, kMost) : std::optional(1L);
}

/// Adds the GPUs of an entry to a list for --gpus-per-task. Returns false for a malformed entry.
bool add_gpus(const Entry& entry, std::string& list) {
  const auto number = number_of(entry, 0);
  const std::string type = entry.name.substr(std::min(entry.name.size(), std::string_view("gpu:").size()));
  if (!number || entry.name == "gpu:" || type.find(':') != std::string::npos) return false;
  if (*number > 0) list += (list.empty() ? "" : ",") + (type.empty() ? type : type + ':') + std::to_string(*number);
  return true;
}

/// Replaces the prefix of "map:0,1" and "mask:0x3".
std::string as_gpu_bind(std::string_view how) {
  std::string quiet;
  if (how.starts_with("verbose,")) {
    quiet = "verbose,";
    how.remove_prefix(quiet.size());
  }
  if (how.starts_with("map:")) return quiet + "map_gpu:" + std::string(how.substr(4));
  if (how.starts_with("mask:")) return quiet + "mask_gpu:" + std::string(how.substr(5));
  return quiet + std::string(how);
}

}  // namespace

std::optional<TresPerTask> parse_tres_per_task(std::string_view text) {
  TresPerTask found;
  bool any = false;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) continue;
    any = true;
    const Entry entry = entry_of(part);
    if (entry.kind == "cpu") {
      found.cpus = number_of(entry, 1);
      if (!found.cpus || !entry.name.empty()) return std::nullopt;
    } else if (is_gpu(entry)) {
      if (!add_gpus(entry, found.gpus)) return std::nullopt;
    } else if (entry.kind.empty() || (entry.kind == "gres" && entry.name.empty())) {
      return std::nullopt;
    } else {
      found.others.push_back(entry.name.empty() ? entry.kind : entry.kind + '/' + entry.name);
    }
  }
  return any ? std::optional(std::move(found)) : std::nullopt;
}

bool tres_per_task_has_gpus(std::string_view text) {
  return std::ranges::any_of(split(text, ','), [](const std::string& part) {
    const Entry entry = entry_of(part);
    return is_gpu(entry) && number_of(entry, 0) != 0;
  });
}

std::optional<std::string> gpu_bind_of_tres(std::string_view text) {
  std::string found;
  for (const std::string& part : split(text, '+')) {
    const std::string_view words = part;
    const size_t name = words.starts_with("gres/") ? std::string_view("gres/").size() : 0;
    const size_t colon = words.find(':', name);
    if (colon == words.npos || colon == name || colon + 1 == words.size()) return std::nullopt;
    if (words.substr(name, colon - name) == "gpu") found = as_gpu_bind(words.substr(colon + 1));
  }
  return found;
}

}  // namespace dlaunch::place
