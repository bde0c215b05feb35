// Directories and files for the ranks of a host. PURE. docs/wire.md has the bytes of each message; wire/message.h
// describes how to add a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// Make the directories of the host's ranks. Sent once, before the first Spawn. The agent answers with Prepared.
struct Prepare {
  static constexpr std::uint8_t kType = 14;
  std::vector<std::string> dirs;   ///< absolute
  std::vector<std::string> bases;  ///< for each of `dirs`, by index: a directory that must exist
  std::vector<std::string> kept;   ///< absolute names of the launcher's files below these directories, which are kept
  bool staged = false;             ///< Stage follows
  void fields(auto& a) { a(dirs, bases, kept, staged); }
  bool operator==(const Prepare&) const = default;
};

/// The next bytes of the archive (wire/archive.h), whose files go into each directory that Prepare listed.
struct Stage {
  static constexpr std::uint8_t kType = 15;
  std::string bytes;
  bool eof = false;
  void fields(auto& a) { a(bytes, eof); }
  bool operator==(const Stage&) const = default;
};

/// A file for the job's ranks on this host. Only its owner may read it; it is removed at the end of the job. Sent
/// before the Programs.
struct JobFile {
  static constexpr std::uint8_t kType = 11;
  std::string name;      ///< without a directory
  std::string variable;  ///< name of the ranks' variable with its path, unless their programs set it
  std::string bytes;
  void fields(auto& a) { a(name, variable, bytes); }
  bool operator==(const JobFile&) const = default;
};

// ---- agent to launcher ----

/// The answer to Prepare, and to the last Stage.
struct Prepared {
  static constexpr std::uint8_t kType = 44;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;   ///< the failed step; empty: success
  std::string hint;  ///< the next step; may be empty
  void fields(auto& a) { a(why, hint); }
  bool operator==(const Prepared&) const = default;
};

/// Grants further bytes of Stage.
struct StageCredit {
  static constexpr std::uint8_t kType = 45;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t bytes = 0;
  void fields(auto& a) { a(bytes); }
  bool operator==(const StageCredit&) const = default;
};

}  // namespace dlaunch::wire
