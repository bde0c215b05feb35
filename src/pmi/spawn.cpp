#include "pmi/spawn.h"

#include <limits>

#include "base/text.h"
#include "base/try.h"

namespace dlaunch::pmi {
namespace {

/// Returns true if the key is the word with a number: "arg1", "preput_key_0".
bool is_numbered(std::string_view key, std::string_view word) {
  return key.starts_with(word) && spawn_number(key.substr(word.size()));
}

static_assert(kMaxFrame <= kMaxSpawn);

/// The pairs of a frame, taken in order. thrid may be at any position.
class Cursor {
 public:
  explicit Cursor(const PmiLine& frame) : pairs_(frame.pairs()) { pass_over(); }

  bool at_end() const { return at_ == pairs_.size(); }
  bool at(std::string_view key) const { return !at_end() && pairs_[at_].first == key; }
  Result<std::string_view> take(std::string_view key) {
    if (!at(key)) return bad_spawn("a spawn request with " + std::string(key) + " in the wrong order", this->key());
    const std::string_view value = pairs_[at_++].second;
    pass_over();
    return value;
  }
  std::string_view key() const { return at_end() ? std::string_view("end of the frame") : pairs_[at_].first; }

 private:
  void pass_over() {
    while (!at_end() && (at_ == 0 || pairs_[at_].first == "thrid")) ++at_;  // the first pair is the command
  }

  const std::vector<std::pair<std::string, std::string>>& pairs_;
  size_t at_ = 0;
};

/// Takes the count at `key`, and calls `each` with the numbers 0 to count - 1 as text.
template <class Each>
Result<void> take_counted(Cursor& pairs, std::string_view key, Each each) {
  const auto said = TRY(pairs.take(key));
  const auto count = spawn_number(said);
  if (!count) return bad_spawn("a spawn request with an invalid number of " + std::string(key), said);
  for (std::uint32_t i = 0; i < *count; ++i) {
    TRY(each(std::to_string(i)));
  }
  return {};
}

/// Takes a key and its value, and passes the value to `use` after the draft has the key.
template <class Use>
Result<void> take_pair(Cursor& pairs, SpawnDraft& draft, const std::string& key, const std::string& value, Use use) {
  return pairs.take(key).and_then([&](std::string_view name) {
    draft.key(name);
    return pairs.take(value).and_then(use);
  });
}

Result<void> take_program(Cursor& pairs, SpawnDraft& draft) {
  draft.begin_program();
  const auto name = TRY(pairs.take("subcmd"));
  draft.program(name);
  auto ranks = pairs.take("maxprocs").and_then([&](std::string_view count) { return draft.ranks(count); });
  if (!ranks) return ranks;
  auto words = take_counted(pairs, "argc", [&](const std::string& i) {
    return pairs.take("argv" + i).map([&](std::string_view word) { draft.argument(word); });
  });
  if (!words || !pairs.at("infokeycount")) return words;
  return take_counted(pairs, "infokeycount", [&](const std::string& i) {
    return take_pair(pairs, draft, "infokey" + i, "infoval" + i, [&](std::string_view value) -> Result<void> {
      draft.info(value);
      return {};
    });
  });
}

}  // namespace

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
  if (key_.empty() || key_.size() > kMaxKey) {
    return bad_spawn("a spawn request with a key that is empty or too long", key_);
  }
  if (value.size() > kMaxValue) return bad_spawn("a spawn request with a value that is too long", key_);
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

// PMI-1's spawn: blocks of lines.

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
  if (!in_block_) return bad_spawn("a spawn request with text outside mcmd=spawn … endcmd", key);
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

// The spawn of PMI-2, one frame: the number of programs, then the number of pairs for the new world and these pairs,
// counted from 0. Each program follows with its name, ranks, arguments and optional info, counted in the same way.

Result<AskSpawn> read_spawn(const PmiLine& frame, std::uint32_t rank) {
  Cursor pairs(frame);
  SpawnDraft draft;
  auto read = pairs.take("ncmds").and_then([&](std::string_view count) { return draft.programs(count); });
  if (!read) return fail(read.error());
  read = take_counted(pairs, "preputcount", [&](const std::string& i) {
    return take_pair(pairs, draft, "ppkey" + i, "ppval" + i, [&](std::string_view value) { return draft.put(value); });
  });
  while (read && !draft.whole()) {
    read = take_program(pairs, draft);
    draft.end_program();
  }
  if (!read) return fail(read.error());
  if (!pairs.at_end()) return bad_spawn("a spawn request with more pairs than its counts announce", pairs.key());
  return draft.take(rank);
}

}  // namespace dlaunch::pmi
