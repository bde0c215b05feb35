// Directories and files that ranks find on their host. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// Make the directories of the host's ranks. Sent once, before the first Spawn. The agent answers Prepared.
struct Prepare {
  static constexpr std::uint8_t kType = 14;
  std::vector<std::string> dirs;   ///< absolute
  std::vector<std::string> bases;  ///< for each of `dirs`, by index: a directory that must exist already
  std::vector<std::string> kept;   ///< absolute names of the launcher's own files below them, which stay
  bool staged = false;             ///< Stage follows
  void fields(auto& a) { a(dirs, bases, kept, staged); }
  bool operator==(const Prepare&) const = default;
};

/// The next bytes of the archive (wire/archive.h) whose files go into each of Prepare's directories.
struct Stage {
  static constexpr std::uint8_t kType = 15;
  std::string bytes;
  bool eof = false;
  void fields(auto& a) { a(bytes, eof); }
  bool operator==(const Stage&) const = default;
};

/// A file that the job's ranks on this host need. Only its owner may read it, and it goes with the job. Sent before the
/// Programs.
struct JobFile {
  static constexpr std::uint8_t kType = 11;
  std::string name;      ///< without a directory
  std::string variable;  ///< the ranks' variable that holds its path, unless their programs set it already
  std::string bytes;
  void fields(auto& a) { a(name, variable, bytes); }
  bool operator==(const JobFile&) const = default;
};

// ---- agent to launcher ----

/// The answer to Prepare, and to the last Stage where files follow it.
struct Prepared {
  static constexpr std::uint8_t kType = 44;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;   ///< what could not be done; empty: all was done
  std::string hint;  ///< the one thing to do; may be empty
  void fields(auto& a) { a(why, hint); }
  bool operator==(const Prepared&) const = default;
};

/// That many more bytes of Stage may come.
struct StageCredit {
  static constexpr std::uint8_t kType = 45;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t bytes = 0;
  void fields(auto& a) { a(bytes); }
  bool operator==(const StageCredit&) const = default;
};

}  // namespace dlaunch::wire
