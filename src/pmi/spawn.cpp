#include "pmi/spawn.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "pmi/limits.h"
#include "pmi/line.h"

namespace dlaunch::pmi {
namespace {

tl::unexpected<Error> bad_spawn(std::string what, std::string_view text) {
  return fail({.where = "", .what = std::move(what), .why = quoted(text), .hint = ""});
}

std::optional<std::uint32_t> number(std::string_view text) {
  const auto value = parse_int(text, 0, std::numeric_limits<std::int32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// "arg1", "preput_key_0": the word with a number behind it.
bool is_numbered(std::string_view key, std::string_view word) {
  return key.starts_with(word) && number(key.substr(word.size()));
}

}  // namespace

Result<bool> SpawnReader::read(std::string_view line) {
  bytes_ += line.size() + 1;
  if (bytes_ > kMaxSpawn) return bad_spawn("a spawn of more than " + std::to_string(kMaxSpawn) + " bytes", line);
  if (line == "mcmd=spawn" && !in_block_) {
    in_block_ = true;
    programs_.emplace_back();
    programs_.back().argv.emplace_back();
    return false;
  }
  if (!in_block_) return bad_spawn("something else between the blocks of a spawn", line);
  if (line == "endcmd") return end_block();
  if (line.starts_with("cmd=") || line.starts_with("mcmd=")) return bad_spawn("a command within a spawn", line);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0) return bad_spawn("a line of a spawn that is no pair", line);
  return read_pair(line.substr(0, equals), line.substr(equals + 1)).map([] { return false; });
}

Result<void> SpawnReader::read_pair(std::string_view key, std::string_view value) {
  SpawnProgram& program = programs_.back();
  if (key == "execname") {
    program.argv.front() = value;
  } else if (key == "nprocs") {
    const auto ranks = number(value);
    if (!ranks) return bad_spawn("a spawn of so many processes", value);
    program.ranks = *ranks;
  } else if (key == "totspawns") {
    const auto blocks = number(value);
    const bool first = programs_.size() == 1;
    if (!blocks || *blocks < 1 || *blocks > kMostPrograms || (!first && *blocks != blocks_)) {
      return bad_spawn("a spawn of so many programs", value);
    }
    blocks_ = *blocks;
  } else if (is_numbered(key, "arg")) {
    program.argv.emplace_back(value);
  } else if (is_numbered(key, "preput_key_") || is_numbered(key, "info_key_")) {
    key_ = value;
  } else if (is_numbered(key, "preput_val_")) {
    return put(value);
  } else if (is_numbered(key, "info_val_")) {
    take_info(value);
  }
  return {};
}

Result<void> SpawnReader::put(std::string_view value) {
  if (key_.empty() || key_.size() > kMaxKey || value.size() > kMaxValue) {
    return bad_spawn("a key of a spawn that is too long, or has no name", key_);
  }
  pairs_.push_back(std::exchange(key_, {}));
  pairs_.emplace_back(value);
  return {};
}

/// Others are none of ours: MPI says that they are passed over.
void SpawnReader::take_info(std::string_view value) {
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

Result<bool> SpawnReader::end_block() {
  in_block_ = false;
  std::string& program = programs_.back().argv.front();
  if (!path_.empty() && program.find('/') == std::string::npos) program.insert(0, path_ + '/');
  path_.clear();
  key_.clear();
  return programs_.size() == blocks_;
}

}  // namespace dlaunch::pmi
