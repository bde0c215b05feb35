// Reads any bytes as an archive of --stage. The result must be an Error, or items whose names stay below the target
// directory, each with exactly its content. The result must not depend on the pieces in which the bytes arrive; the
// first byte of the input chooses the size of the pieces. The items, written again, must be an archive.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "wire/archive.h"

namespace {

using namespace dlaunch;
using wire::ArchiveItem;

void require(bool holds) {
  if (!holds) std::abort();
}

struct File {
  ArchiveItem item;
  std::string content;
  bool ended = false;
  bool operator==(const File&) const = default;
};

struct Taken {
  std::vector<File> files;
  bool failed = false;
  bool complete = false;
  bool operator==(const Taken&) const = default;
};

void check_item(const ArchiveItem& item) {
  require(item.size <= wire::kMaxStaged && item.permissions <= 01777 && item.name.size() <= wire::kMaxStagedName);
  require(item.name.find('\0') == std::string::npos);
  for (const std::string& part : split(item.name, '/')) require(!part.empty() && part != "." && part != "..");
}

Taken take(std::string_view bytes, size_t piece) {
  Taken taken;
  wire::ArchiveReader reader({[&](const ArchiveItem& item) {
                                check_item(item);
                                require(taken.files.empty() || taken.files.back().ended);
                                taken.files.push_back({item, {}});
                                return Result<void>{};
                              },
                              [&](std::string_view part) {
                                File& file = taken.files.back();
                                file.content += part;
                                require(!part.empty() && !file.ended && file.content.size() <= file.item.size);
                                return Result<void>{};
                              },
                              [&] {
                                File& file = taken.files.back();
                                require(!file.ended && file.content.size() == file.item.size);
                                file.ended = true;
                                return Result<void>{};
                              }});
  while (!bytes.empty() && !taken.failed) {
    taken.failed = !reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  taken.complete = !taken.failed && reader.complete();
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Taken whole = take(bytes, bytes.size());
  require(take(bytes, 1U + data[0]) == whole);
  std::string again;
  for (const File& file : whole.files) {
    append_item(file.item, again);
    again += file.content;
  }
  if (whole.complete) require(again == bytes);
  const Taken twice = take(again, again.size() + 1);
  require(!twice.failed && twice.files == whole.files);
  return 0;
}
