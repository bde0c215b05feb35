#include "session/staged_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/printable.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "session/file_names.h"
#include "sys/fd.h"
#include "sys/held_directory.h"
#include "wire/archive.h"

namespace dlaunch::session {
namespace {

namespace fs = std::filesystem;
using Kind = wire::ArchiveItem::Kind;

constexpr size_t kReadSize = 256u << 10;

tl::unexpected<Error> failed(const std::string& name, const std::string& why, std::string hint = {}) {
  return fail({.where = "--stage", .what = escaped(name), .why = why, .hint = std::move(hint)});
}

tl::unexpected<Error> failed(const std::string& name, int error) { return failed(name, sys::why_not_opened(error)); }

/// A pattern that equals the name of an existing file means this file.
Result<std::vector<std::string>> names_of(const std::string& pattern) {
  struct stat info{};
  if (::stat(pattern.c_str(), &info) == 0) return std::vector<std::string>{pattern};
  const int error = errno;
  if (pattern.find_first_of("*?[") == std::string::npos) return failed(pattern, error);
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (names.empty()) return failed(pattern, "not found: no file matches the pattern");
  return names;
}

class Packer {
 public:
  Result<void> add(const std::string& path) {
    const std::string name = last_name(path);
    if (name.empty()) return failed(path, "missing base name");
    const auto [other, fresh] = from_.emplace(name, path);
    if (!fresh && other->second == path) return {};
    if (!fresh) return failed(path, "has the same name as " + escaped(other->second), "rename one of them");
    return add_named(path, name);
  }

  std::string take() { return std::move(archive_); }

 private:
  static std::string last_name(const std::string& path) {
    fs::path whole = fs::path(path).lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();
    return whole.filename().string();
  }

  /// Follows a link in place of the file.
  Result<void> add_named(const std::string& path, const std::string& name) {
    const sys::HeldPlace place = sys::HeldPlace::of(path);
    const auto facts = place ? place.directory.facts_of(place.name) : std::nullopt;
    if (!facts) return failed(path, errno);
    if (!is_packed(*facts)) return unknown_kind(path);
    sys::Fd opened = sys::open_file_at(place, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    return add_open(path, name, std::move(opened));
  }

  Result<void> add_entry(const sys::HeldDirectory& parent, const std::string& entry, const std::string& path,
                         const std::string& name) {
    const auto facts = parent.facts_of(entry);
    if (!facts) return failed(path, errno);
    if (!is_packed(*facts)) return unknown_kind(path);
    if (S_ISLNK(facts->st_mode)) return add_link(parent, entry, path, name);
    return add_open(path, name, parent.open_file(entry, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  }

  Result<void> add_open(const std::string& path, const std::string& name, sys::Fd opened) {
    struct stat facts{};
    if (!opened || ::fstat(opened.get(), &facts) != 0) return failed(path, errno);
    if (S_ISDIR(facts.st_mode)) return add_directory(path, name, facts, sys::HeldDirectory(std::move(opened)));
    if (S_ISREG(facts.st_mode)) return add_file(path, name, facts, opened);
    return unknown_kind(path);
  }

  static bool is_packed(const struct stat& facts) {
    return S_ISDIR(facts.st_mode) || S_ISLNK(facts.st_mode) || S_ISREG(facts.st_mode);
  }

  static tl::unexpected<Error> unknown_kind(const std::string& path) {
    return failed(path, "is neither a file nor a directory", "remove it from --stage");
  }

  Result<void> begin(const std::string& path, Kind kind, const std::string& name, mode_t mode, std::uint64_t size) {
    if (archive_.size() + size > wire::kMaxStaged) {
      return failed(path, "more than " + std::to_string(wire::kMaxStaged >> 20) + " MiB in total",
                    "put the data on a shared file system, or copy the data to the hosts first");
    }
    if (name.size() > wire::kMaxStagedName) return failed(path, ENAMETOOLONG);
    wire::append_item({kind, mode & 01777u, size, name}, archive_);
    return {};
  }

  Result<void> add_directory(const std::string& path, const std::string& name, const struct stat& info,
                             const sys::HeldDirectory& directory) {
    TRY(begin(path, Kind::directory, name, info.st_mode, 0));
    std::vector<std::string> entries;
    const int error = directory.for_each_entry([&](const dirent& entry) {
      entries.emplace_back(entry.d_name);
      return true;
    });
    if (error != 0) return failed(path, error);
    std::ranges::sort(entries);
    for (const std::string& entry : entries) {
      TRY(add_entry(directory, entry, path + '/' + entry, name + '/' + entry));
    }
    return {};
  }

  Result<void> add_link(const sys::HeldDirectory& parent, const std::string& entry, const std::string& path,
                        const std::string& name) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(parent.fd(), entry.c_str(), target.data(), target.size());
    if (size < 0) return failed(path, errno);
    TRY(begin(path, Kind::link, name, 0, static_cast<std::uint64_t>(size)));
    archive_.append(target.data(), static_cast<size_t>(size));
    return {};
  }

  /// A file without blocks, as in /proc and /sys, may contain more or fewer bytes than its size.
  Result<void> add_file(const std::string& path, const std::string& name, const struct stat& info,
                        const sys::Fd& file) {
    if (info.st_blocks == 0 && static_cast<size_t>(info.st_size) <= kReadSize)
      return add_unsized(path, name, info, file);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    TRY(begin(path, Kind::file, name, info.st_mode, size));
    const size_t end = archive_.size() + static_cast<size_t>(size);
    while (archive_.size() < end) {
      const size_t at = archive_.size();
      archive_.resize(std::min(end, at + kReadSize));
      const ssize_t got = ::read(file.get(), archive_.data() + at, archive_.size() - at);
      if (got < 0) return failed(path, errno);
      if (got == 0) return failed(path, "the file became shorter while dlaunch read it", "run the command again");
      archive_.resize(at + static_cast<size_t>(got));
    }
    return {};
  }

  Result<void> add_unsized(const std::string& path, const std::string& name, const struct stat& info,
                           const sys::Fd& file) {
    std::string content;
    std::string piece(kReadSize, '\0');
    while (content.size() + archive_.size() <= wire::kMaxStaged) {
      const ssize_t got = ::read(file.get(), piece.data(), piece.size());
      if (got < 0) return failed(path, errno);
      if (got == 0) break;
      content.append(piece, 0, static_cast<size_t>(got));
    }
    TRY(begin(path, Kind::file, name, info.st_mode, content.size()));
    archive_ += content;
    return {};
  }

  std::string archive_;
  std::map<std::string, std::string> from_;  // by name in the archive
};

/// The log files and error files of ranks within the rank directories, relative to these directories.
std::set<std::string> files_in_rank_dirs(const JobOptions& options, const plan::Plan& plan) {
  std::set<std::string> names;
  std::set<std::string> dirs;
  for (const plan::Rank& rank : plan.ranks) dirs.insert(rank.dir);
  std::vector<std::string> files = launcher::error_files(plan);
  for (LogFile& log : log_files(options, plan)) files.push_back(std::move(log.path));
  for (const std::string& file : files) {
    const std::string path = fs::path(file).lexically_normal().string();
    for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
      if (dirs.contains(path.substr(0, slash))) names.insert(path.substr(slash + 1));
    }
  }
  return names;
}

}  // namespace

Result<std::shared_ptr<const std::string>> read_staged(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return std::shared_ptr<const std::string>();
  Packer packer;
  for (const std::string& pattern : patterns) {
    const auto names = TRY(names_of(pattern));
    for (const std::string& name : names) {
      TRY(packer.add(name));
    }
  }
  return std::make_shared<const std::string>(packer.take());
}

Result<void> check_staged_names(const JobOptions& options, const plan::Plan& plan) {
  if (!options.staged) return {};
  std::set<std::string> written = files_in_rank_dirs(options, plan);
  written.emplace(wire::kRankDirMarker);
  if (options.save_env) written.emplace(wire::kEnvironmentFile);
  std::set<std::string> above;
  for (const std::string& name : written) {
    for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      above.insert(name.substr(0, slash));
    }
  }
  const auto check = [&](const wire::ArchiveItem& item) -> Result<void> {
    if (!written.contains(item.name) && (item.kind == Kind::directory || !above.contains(item.name))) return {};
    return failed(item.name, "dlaunch writes a file with this name into each rank directory",
                  "give the file another name, or remove the file from --stage");
  };
  const auto nothing = [](const auto&...) { return Result<void>(); };
  return wire::ArchiveReader({check, nothing, nothing}).feed(*options.staged);
}

}  // namespace dlaunch::session
