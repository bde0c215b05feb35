// The spawn of PMI-2, one frame: the number of programs, then the number of pairs for the new world and these pairs,
// counted from 0. Each program follows with its name, ranks, arguments and optional info, counted in the same way.
#include "pmi/spawn.h"

#include "base/try.h"
#include "pmi/frame.h"

namespace dlaunch::pmi {
namespace {

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
