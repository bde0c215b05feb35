#include "wire/archive.h"
#include "base/try.h"

#include <algorithm>

namespace dlaunch::wire {
namespace {

constexpr size_t kKindAt = 0;
constexpr size_t kPermissionsAt = 1;
constexpr size_t kSizeAt = 5;
constexpr size_t kNameSizeAt = 13;
constexpr size_t kHeadSize = 17;  // the name follows
constexpr std::uint32_t kPermissionBits = 01777;

void append_number(std::uint64_t value, size_t size, std::string& out) {
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

/// Returns true if the name stays below the directory of the archive's files.
bool is_plain_name(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

tl::unexpected<Error> broken() {
  return fail({.where = "", .what = "cannot read the staged files", .why = "the stream is not an archive", .hint = ""});
}

}  // namespace

void append_item(const ArchiveItem& item, std::string& archive) {
  append_number(static_cast<std::uint64_t>(item.kind), kPermissionsAt - kKindAt, archive);
  append_number(item.permissions & kPermissionBits, kSizeAt - kPermissionsAt, archive);
  append_number(item.size, kNameSizeAt - kSizeAt, archive);
  append_number(item.name.size(), kHeadSize - kNameSizeAt, archive);
  archive += item.name;
}

Result<void> ArchiveReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (in_content_) {
      TRY(take_content(bytes));
      continue;
    }
    const size_t name_size =
        head_.size() < kHeadSize ? 0 : number(std::string_view(head_).substr(kNameSizeAt, kHeadSize - kNameSizeAt));
    if (name_size > kMaxStagedName) return broken();
    const size_t take = std::min(bytes.size(), kHeadSize + name_size - head_.size());
    head_ += bytes.substr(0, take);
    bytes.remove_prefix(take);
    if (head_.size() > kHeadSize && head_.size() == kHeadSize + name_size) {
      TRY(begin_item());
    } else if (take == 0) {
      return broken();  // an empty name
    }
  }
  return {};
}

Result<void> ArchiveReader::begin_item() {
  ArchiveItem item;
  const std::string_view head = head_;
  const std::uint64_t kind = number(head.substr(kKindAt, kPermissionsAt - kKindAt));
  item.kind = static_cast<ArchiveItem::Kind>(kind);
  item.permissions = static_cast<std::uint32_t>(number(head.substr(kPermissionsAt, kSizeAt - kPermissionsAt)));
  item.size = number(head.substr(kSizeAt, kNameSizeAt - kSizeAt));
  item.name = head.substr(kHeadSize);
  if (kind > static_cast<std::uint64_t>(ArchiveItem::Kind::link) || item.permissions > kPermissionBits ||
      item.size > kMaxStaged || !is_plain_name(item.name)) {
    return broken();
  }
  head_.clear();
  left_ = item.size;
  in_content_ = left_ > 0;
  TRY(handlers_.begin(item));
  return in_content_ ? Result<void>{} : handlers_.end();
}

Result<void> ArchiveReader::take_content(std::string_view& bytes) {
  const std::string_view part = bytes.substr(0, static_cast<size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
  bytes.remove_prefix(part.size());
  left_ -= part.size();
  TRY(handlers_.content(part));
  if (left_ > 0) return {};
  in_content_ = false;
  return handlers_.end();
}

}  // namespace dlaunch::wire
