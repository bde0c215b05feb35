// Requests of ranks for more ranks: in PMI-1 as blocks of lines, one per program, in PMI-2 as one frame.
// Meaning and limits are the same. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "pmi/actions.h"
#include "pmi/line.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxSpawn = 1u << 20;  ///< limit for one spawn

/// The Error of all functions here, without `where`. Do not feed more after an Error.
tl::unexpected<Error> bad_spawn(std::string what, std::string_view text);
/// A count or an index; nullopt: neither.
std::optional<std::uint32_t> spawn_number(std::string_view text);

/// Collects the parts of a spawn request, for PMI-1 and PMI-2. The errors come from bad_spawn().
class SpawnDraft {
 public:
  /// The number of programs. A repeated number must be the same.
  Result<void> programs(std::string_view count);
  bool whole() const { return programs_.size() == announced_; }

  void begin_program();
  void program(std::string_view name) { programs_.back().argv.front() = name; }
  Result<void> ranks(std::string_view count);
  void argument(std::string_view word) { programs_.back().argv.emplace_back(word); }
  void end_program();

  /// The key of the next value.
  void key(std::string_view key) { key_ = key; }
  /// The pair belongs to the new world's space.
  Result<void> put(std::string_view value);
  /// The pair is an info key of MPI for the program.
  void info(std::string_view value);

  AskSpawn take(std::uint32_t rank) { return {rank, std::move(programs_), std::move(pairs_)}; }

 private:
  std::vector<SpawnProgram> programs_;
  std::vector<std::string> pairs_;
  std::uint32_t announced_ = 1;
  std::string key_;
  std::string path_;  // info "path" of the current program
};

/// Reads the blocks of PMI-1: each goes from "mcmd=spawn" to "endcmd"; each line has a key and a value up to the end of
/// the line. Owned by a PmiServer, one per client that describes a spawn.
class SpawnReader {
 public:
  /// `line` has no newline; the first line is "mcmd=spawn". Returns true at the end of the last block: then take() is
  /// complete.
  Result<bool> read(std::string_view line);
  AskSpawn take(std::uint32_t rank) { return draft_.take(rank); }

 private:
  Result<void> read_pair(std::string_view key, std::string_view value);

  SpawnDraft draft_;
  bool in_block_ = false;
  size_t bytes_ = 0;
};

/// Reads the frame of PMI-2. The order of its pairs matters, because keys repeat for each program.
Result<AskSpawn> read_spawn(const PmiLine& frame, std::uint32_t rank);

}  // namespace dlaunch::pmi
