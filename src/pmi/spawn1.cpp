// PMI-1's spawn: blocks of lines.
#include "pmi/spawn.h"

namespace dlaunch::pmi {
namespace {

/// Returns true if the key is the word with a number: "arg1", "preput_key_0".
bool is_numbered(std::string_view key, std::string_view word) {
  return key.starts_with(word) && spawn_number(key.substr(word.size()));
}

}  // namespace

Result<bool> SpawnReader::read(std::string_view line) {
  const size_t equals = line.find('=');
  const std::string_view key = line.substr(0, equals);  // the value may be a secret
  bytes_ += line.size() + 1;
  if (bytes_ > kMaxSpawn) return bad_spawn("a spawn request of more than " + std::to_string(kMaxSpawn) + " bytes", key);
  if (line == "mcmd=spawn" && !in_block_) {
    in_block_ = true;
    draft_.begin_program();
    return false;
  }
  if (!in_block_) return bad_spawn("unexpected text between the blocks of a spawn request", key);
  if (line == "endcmd") {
    in_block_ = false;
    draft_.end_program();
    return draft_.whole();
  }
  if (line.starts_with("cmd=") || line.starts_with("mcmd=")) return bad_spawn("a command within a spawn request", line);
  if (equals == std::string_view::npos || equals == 0)
    return bad_spawn("a line of a spawn request that is not KEY=VALUE", key);
  return read_pair(key, line.substr(equals + 1)).map([] { return false; });
}

/// Counts of arguments and keys are ignored: the items themselves follow.
Result<void> SpawnReader::read_pair(std::string_view key, std::string_view value) {
  if (key == "nprocs") return draft_.ranks(value);
  if (key == "totspawns") return draft_.programs(value);
  if (is_numbered(key, "preput_val_")) return draft_.put(value);
  if (key == "execname") {
    draft_.program(value);
  } else if (is_numbered(key, "arg")) {
    draft_.argument(value);
  } else if (is_numbered(key, "preput_key_") || is_numbered(key, "info_key_")) {
    draft_.key(value);
  } else if (is_numbered(key, "info_val_")) {
    draft_.info(value);
  }
  return {};
}

}  // namespace dlaunch::pmi
