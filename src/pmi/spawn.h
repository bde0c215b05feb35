// What PMI-1 says to start more ranks: blocks of lines, one for each program, from "mcmd=spawn" to "endcmd", each line
// a key and a value that runs to its end. PURE. Owned by a Server, one for each client that is in the midst of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "pmi/actions.h"

namespace dlaunch::pmi {

inline constexpr std::uint32_t kMostPrograms = 256;  ///< of one spawn
inline constexpr size_t kMaxSpawn = 1u << 20;        ///< bytes of one spawn, all blocks together

class SpawnReader {
 public:
  /// Without its newline; the first one is "mcmd=spawn". True with the last block's end: take() has it all. An Error
  /// has no `where`; nothing more may be read then.
  Result<bool> read(std::string_view line);
  AskSpawn take(std::uint32_t rank) { return {rank, std::move(programs_), std::move(pairs_)}; }

 private:
  Result<void> read_pair(std::string_view key, std::string_view value);
  Result<void> put(std::string_view value);
  Result<bool> end_block();
  void take_info(std::string_view value);

  std::vector<SpawnProgram> programs_;
  std::vector<std::string> pairs_;
  bool in_block_ = false;
  std::uint32_t blocks_ = 1;  // that are to come in all
  size_t bytes_ = 0;
  std::string key_;   // whose value comes next
  std::string path_;  // of the block's program
};

}  // namespace dlaunch::pmi
