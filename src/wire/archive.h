// The archive of the files of --stage; docs/wire.md has its bytes. An item has a mode, a size, a name and a content.
// Both sides process it in pieces. PURE.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::wire {

/// Names of files that the agent writes into a rank directory.
inline constexpr const char* kRankDirMarker = ".dlaunch-rank-dir";
inline constexpr const char* kEnvironmentFile = "env.log";

/// limit for an archive, in bytes: programs and settings, not data
inline constexpr std::uint64_t kMaxStaged = 256u << 20;
inline constexpr std::uint32_t kMaxStagedName = 4096;

struct ArchiveItem {
  enum class Kind : std::uint8_t { file = 0, directory = 1, link = 2 };
  Kind kind = Kind::file;
  std::uint32_t permissions = 0;  ///< the nine permission bits and the sticky bit
  /// size of the content: the bytes of a file or the target of a link; 0 for a directory
  std::uint64_t size = 0;
  std::string name;  ///< relative, without "." and ".."; an earlier item is its directory
  bool operator==(const ArchiveItem&) const = default;
};

/// Appends the head of an item. The caller appends the content.
void append_item(const ArchiveItem& item, std::string& archive);

/// Parses an archive piece by piece.
class ArchiveReader {
 public:
  struct Handlers {
    std::function<Result<void>(const ArchiveItem&)> begin;
    std::function<Result<void>(std::string_view)> content;  ///< a piece of the current item; never more than its size
    std::function<Result<void>()> end;                      ///< the content is complete
  };
  explicit ArchiveReader(Handlers handlers) : handlers_(std::move(handlers)) {}

  /// The Error is that of a handler, or reports a malformed archive. Do not call feed() after an Error.
  Result<void> feed(std::string_view bytes);
  /// Returns true if the last item is complete.
  bool complete() const { return !in_content_ && head_.empty(); }

 private:
  Result<void> begin_item();
  Result<void> take_content(std::string_view& bytes);

  Handlers handlers_;
  std::string head_;  // received part of the next item's head
  bool in_content_ = false;
  std::uint64_t left_ = 0;  // missing bytes of the content
};

}  // namespace dlaunch::wire
