// What ranks say to start more ranks: by PMI-1 blocks of lines, one for each program (spawn1.cpp), by PMI-2 one frame
// (spawn2.cpp). What it means and how much it may be is the same for both (spawn.cpp). PURE.
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

inline constexpr size_t kMaxSpawn = 1u << 20;  ///< bytes of one spawn, all that is said of it together

/// An Error of these has no `where`; nothing more may be said to it then.
tl::unexpected<Error> bad_spawn(std::string what, std::string_view text);
/// A count or an index; nullopt when it is none.
std::optional<std::uint32_t> spawn_number(std::string_view text);

/// A spawn as it is said, piece by piece, in whichever dialect. Errors as of bad_spawn().
class SpawnDraft {
 public:
  /// How many programs there will be. Said again, it must be the same.
  Result<void> programs(std::string_view count);
  bool whole() const { return programs_.size() == announced_; }

  void begin_program();
  void program(std::string_view name) { programs_.back().argv.front() = name; }
  Result<void> ranks(std::string_view count);
  void argument(std::string_view word) { programs_.back().argv.emplace_back(word); }
  void end_program();

  /// Of the pair whose value is said next.
  void key(std::string_view key) { key_ = key; }
  /// The pair is in the new world's space.
  Result<void> put(std::string_view value);
  /// The pair is one of MPI's info for the program.
  void info(std::string_view value);

  AskSpawn take(std::uint32_t rank) { return {rank, std::move(programs_), std::move(pairs_)}; }

 private:
  std::vector<SpawnProgram> programs_;
  std::vector<std::string> pairs_;
  std::uint32_t announced_ = 1;
  std::string key_;
  std::string path_;  // of the program that was begun
};

/// Reads PMI-1's: each block runs from "mcmd=spawn" to "endcmd", each line is a key and a value that runs to its end.
/// Owned by a Server, one for each client that is in the midst of it.
class SpawnReader {
 public:
  /// Without its newline; the first one is "mcmd=spawn". True with the last block's end: take() has it all.
  Result<bool> read(std::string_view line);
  AskSpawn take(std::uint32_t rank) { return draft_.take(rank); }

 private:
  Result<void> read_pair(std::string_view key, std::string_view value);

  SpawnDraft draft_;
  bool in_block_ = false;
  size_t bytes_ = 0;
};

/// Reads PMI-2's: the pairs of a frame, whose order matters, for keys come again with each program.
Result<AskSpawn> read_spawn(const PmiLine& frame, std::uint32_t rank);

}  // namespace dlaunch::pmi
