#include "pmi/spawn.h"

#include <limits>

#include "base/text.h"
#include "pmi/limits.h"

namespace dlaunch::pmi {

tl::unexpected<Error> bad_spawn(std::string what, std::string_view text) {
  return fail({.where = "", .what = std::move(what), .why = quoted(text), .hint = ""});
}

std::optional<std::uint32_t> spawn_number(std::string_view text) {
  const auto value = parse_int(text, 0, std::numeric_limits<std::int32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

Result<void> SpawnDraft::programs(std::string_view count) {
  const auto programs = spawn_number(count);
  const bool again = programs_.size() > 1;
  if (!programs || *programs < 1 || *programs > kMostPrograms || (again && *programs != announced_)) {
    return bad_spawn("a spawn request with an invalid number of programs", count);
  }
  announced_ = *programs;
  return {};
}

void SpawnDraft::begin_program() {
  programs_.emplace_back();
  programs_.back().argv.emplace_back();
}

Result<void> SpawnDraft::ranks(std::string_view count) {
  const auto ranks = spawn_number(count);
  if (!ranks) return bad_spawn("a spawn request with an invalid number of processes", count);
  programs_.back().ranks = *ranks;
  return {};
}

Result<void> SpawnDraft::put(std::string_view value) {
  if (key_.empty() || key_.size() > kMaxKey || value.size() > kMaxValue) {
    return bad_spawn("a spawn request with a key that is empty or too long", key_);
  }
  pairs_.push_back(std::exchange(key_, {}));
  pairs_.emplace_back(value);
  return {};
}

/// Unknown keys are ignored, as in the MPI standard.
void SpawnDraft::info(std::string_view value) {
  SpawnProgram& program = programs_.back();
  const std::string key = std::exchange(key_, {});
  if (key == "wdir") program.wdir = value;
  if (key == "path") path_ = value;
  if (key == "env") program.env.emplace_back(value);
  if (key != "host" && key != "hosts") return;
  for (const std::string& name : split(value, ',')) {
    const std::string_view trimmed = trim(name);
    if (!trimmed.empty()) program.hosts.emplace_back(trimmed);
  }
}

void SpawnDraft::end_program() {
  std::string& program = programs_.back().argv.front();
  if (!path_.empty() && program.find('/') == std::string::npos) program.insert(0, path_ + '/');
  path_.clear();
  key_.clear();
}

}  // namespace dlaunch::pmi
