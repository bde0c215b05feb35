// How ranks ask for more ranks: by PMI-1 in blocks of lines, one for each program (spawn1.cpp), by PMI-2 in one frame
// (spawn2.cpp). Meaning and limits are the same for both (spawn.cpp). PURE.
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

inline constexpr size_t kMaxSpawn = 1u << 20;  ///< all that is said of one spawn

/// The Error of all functions here, without `where`. No more may be fed after one.
tl::unexpected<Error> bad_spawn(std::string what, std::string_view text);
/// A count or an index; nullopt when it is neither.
std::optional<std::uint32_t> spawn_number(std::string_view text);

/// Gathers what a client says of a spawn, in either dialect. Errors are bad_spawn()'s.
class SpawnDraft {
 public:
  /// The number of programs to come. When it is said again, it must be the same.
  Result<void> programs(std::string_view count);
  bool whole() const { return programs_.size() == announced_; }

  void begin_program();
  void program(std::string_view name) { programs_.back().argv.front() = name; }
  Result<void> ranks(std::string_view count);
  void argument(std::string_view word) { programs_.back().argv.emplace_back(word); }
  void end_program();

  /// The key of the pair whose value comes next.
  void key(std::string_view key) { key_ = key; }
  /// The pair goes into the new world's space.
  Result<void> put(std::string_view value);
  /// The pair is one of MPI's info keys for the program.
  void info(std::string_view value);

  AskSpawn take(std::uint32_t rank) { return {rank, std::move(programs_), std::move(pairs_)}; }

 private:
  std::vector<SpawnProgram> programs_;
  std::vector<std::string> pairs_;
  std::uint32_t announced_ = 1;
  std::string key_;
  std::string path_;  // info "path" of the current program
};

/// Reads PMI-1's blocks: each runs from "mcmd=spawn" to "endcmd", and each line is a key and a value that runs to its
/// end. Owned by a PmiServer, one for each client that describes a spawn.
class SpawnReader {
 public:
  /// `line` has no newline; the first is "mcmd=spawn". True at the end of the last block: take() then has everything.
  Result<bool> read(std::string_view line);
  AskSpawn take(std::uint32_t rank) { return draft_.take(rank); }

 private:
  Result<void> read_pair(std::string_view key, std::string_view value);

  SpawnDraft draft_;
  bool in_block_ = false;
  size_t bytes_ = 0;
};

/// Reads PMI-2's frame. The order of its pairs matters, because keys repeat for each program.
Result<AskSpawn> read_spawn(const PmiLine& frame, std::uint32_t rank);

}  // namespace dlaunch::pmi
