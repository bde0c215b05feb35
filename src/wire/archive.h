// The archive of files that --stage sends; docs/wire.md has its bytes. An item is its mode, size and name, then its
// content. Both sides work on pieces of it. PURE.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::wire {

inline constexpr std::uint64_t kMaxStaged = 256u << 20;  ///< bytes of an archive: programs and settings, not data
inline constexpr std::uint32_t kMaxStagedName = 4096;

struct ArchiveItem {
  enum class Kind : std::uint8_t { file = 0, directory = 1, link = 2 };
  Kind kind = Kind::file;
  std::uint32_t permissions = 0;  ///< the nine permission bits
  std::uint64_t size = 0;         ///< of the content: a file's bytes, a link's target; a directory has none
  std::string name;               ///< relative, without "." and ".."; its directory is an earlier item
  bool operator==(const ArchiveItem&) const = default;
};

/// Appends the head of an item; the caller appends its content.
void append_item(const ArchiveItem& item, std::string& archive);

/// Parses an archive as it comes.
class ArchiveReader {
 public:
  struct Handlers {
    std::function<Result<void>(const ArchiveItem&)> begin;
    std::function<Result<void>(std::string_view)> content;  ///< of the current item; never more than its size
    std::function<Result<void>()> end;                      ///< all of its content has come
  };
  explicit ArchiveReader(Handlers handlers) : handlers_(std::move(handlers)) {}

  /// An Error comes from a handler, or says that this is no archive. Nothing more may be fed after one.
  Result<void> feed(std::string_view bytes);
  /// Whether the last item is complete.
  bool complete() const { return !in_content_ && head_.empty(); }

 private:
  Result<void> begin_item();
  Result<void> take_content(std::string_view& bytes);

  Handlers handlers_;
  std::string head_;  // of the next item, as far as it came
  bool in_content_ = false;
  std::uint64_t left_ = 0;  // of its content, yet to come
};

}  // namespace dlaunch::wire
