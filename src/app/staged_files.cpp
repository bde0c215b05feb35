#include "app/staged_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/printable.h"
#include "base/try.h"
#include "sys/fd.h"
#include "wire/archive.h"

namespace dlaunch::app {
namespace {

namespace fs = std::filesystem;
using Kind = wire::ArchiveItem::Kind;

constexpr size_t kReadSize = 256u << 10;

tl::unexpected<Error> failed(const std::string& name, const std::string& why, std::string hint = {}) {
  return fail({.where = "--stage", .what = escaped(name), .why = why, .hint = std::move(hint)});
}

tl::unexpected<Error> failed(const std::string& name, int error) { return failed(name, std::strerror(error)); }

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
  if (names.empty()) return failed(pattern, "no matching file found");
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
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return failed(path, errno);
    return add_entry(path, name, info);
  }

  std::string take() { return std::move(archive_); }

 private:
  static std::string last_name(const std::string& path) {
    fs::path whole = fs::path(path).lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();
    return whole.filename().string();
  }

  Result<void> add_entry(const std::string& path, const std::string& name, const struct stat& info) {
    if (S_ISDIR(info.st_mode)) return add_directory(path, name, info);
    if (S_ISLNK(info.st_mode)) return add_link(path, name);
    if (S_ISREG(info.st_mode)) return add_file(path, name, info);
    return failed(path, "is neither a file nor a directory", "remove it from --stage");
  }

  Result<void> begin(const std::string& path, Kind kind, const std::string& name, mode_t mode, std::uint64_t size) {
    if (archive_.size() + size > wire::kMaxStaged) {
      return failed(path, "more than " + std::to_string(wire::kMaxStaged >> 20) + " MiB in total",
                    "put the data on a shared file system, or copy the data to the hosts first");
    }
    if (name.size() > wire::kMaxStagedName) return failed(path, ENAMETOOLONG);
    wire::append_item({kind, mode & 0777u, size, name}, archive_);
    return {};
  }

  Result<void> add_directory(const std::string& path, const std::string& name, const struct stat& info) {
    TRY(begin(path, Kind::directory, name, info.st_mode, 0));
    std::error_code error;
    std::vector<std::string> entries;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      entries.push_back(entry->path().filename().string());
    }
    if (error) return failed(path, error.message());
    std::ranges::sort(entries);
    for (const std::string& entry : entries) {
      const std::string below = path + '/' + entry;
      struct stat its{};
      if (::lstat(below.c_str(), &its) != 0) return failed(below, errno);
      TRY(add_entry(below, name + '/' + entry, its));
    }
    return {};
  }

  Result<void> add_link(const std::string& path, const std::string& name) {
    std::error_code error;
    const std::string target = fs::read_symlink(path, error).string();
    if (error) return failed(path, error.message());
    TRY(begin(path, Kind::link, name, 0, target.size()));
    archive_ += target;
    return {};
  }

  Result<void> add_file(const std::string& path, const std::string& name, const struct stat& info) {
    const auto size = static_cast<std::uint64_t>(info.st_size);
    TRY(begin(path, Kind::file, name, info.st_mode, size));
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return failed(path, errno);
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

  std::string archive_;
  std::map<std::string, std::string> from_;  // by name in the archive
};

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

}  // namespace dlaunch::app
