#include "sys/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <string_view>

#include "sys/held_directory.h"

namespace dlaunch::sys {

std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
  return read_file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), limit);
}

std::optional<std::string> read_file(const Fd& file, std::size_t limit) {
  if (!file) return std::nullopt;
  std::string text;
  struct stat facts{};
  if (::fstat(file.get(), &facts) == 0) text.reserve(std::min(limit, static_cast<std::size_t>(facts.st_size)));
  std::array<char, 4096> buffer;
  while (text.size() < limit) {
    const ssize_t got = ::read(file.get(), buffer.data(), std::min(buffer.size(), limit - text.size()));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_size > static_cast<off_t>(limit)) return std::nullopt;
  return read_file(file, limit);
}

bool is_fifo(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0644;

Fd create_once(const std::string& path, int more_flags, Created* created) {
  const HeldPlace place = HeldPlace::make(path, kDirectoryMode, created ? &created->directories : nullptr);
  if (!place) return {};
  const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | more_flags;
  if (!created) return open_file_at(place, flags | O_CREAT, kFileMode);
  Fd file = open_file_at(place, flags | O_CREAT | O_EXCL, kFileMode);
  created->file = static_cast<bool>(file);
  if (file || errno != EEXIST) return file;
  file = open_file_at(place, flags, kFileMode);
  if (file || errno != ENOENT) return file;
  file = open_file_at(place, flags | O_CREAT, kFileMode);  // a link to a missing file
  created->file = static_cast<bool>(file);
  return file;
}

}  // namespace

Fd create_file(const std::string& path, int more_flags, Created* created) {
  constexpr int kAttempts = 64;  // another process may remove directories that are still empty
  if (path.ends_with('/')) {
    errno = EISDIR;
    return {};
  }
  for (int attempt = 1;; ++attempt) {
    Fd file = create_once(path, more_flags, created);
    if (file || errno != ENOENT || attempt == kAttempts) return file;
  }
}

bool is_mere_text(std::string_view start) {
  const auto is_text = [](unsigned char c) { return c >= ' ' || (c >= '\t' && c <= '\r'); };
  if (start.starts_with("#!") || !std::ranges::all_of(start, is_text)) return false;
  std::vector<std::string> formats = entries_of("/proc/sys/fs/binfmt_misc");
  std::erase(formats, "register");
  std::erase(formats, "status");
  return formats.empty();
}

std::string link_target(const std::string& link) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

void remove_if_empty(const Fd& file) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size != 0) return;
  const std::string path = link_target("/proc/self/fd/" + std::to_string(file.get()));
  const HeldPlace place = path.empty() ? HeldPlace() : HeldPlace::of(path);
  const auto named = place ? place.directory.facts_of(place.name) : std::nullopt;
  if (named && is_same(facts, *named)) place.directory.remove_file(place.name);
}

bool remove_made(const std::vector<std::string>& made) {
  bool empty = true;
  for (auto path = made.rbegin(); path != made.rend(); ++path) {
    const HeldPlace place = HeldPlace::of(*path);
    if (place && place.directory.remove_empty(place.name) == ENOTEMPTY) empty = false;
  }
  return empty;
}

int for_each_entry(const std::string& path, const std::function<bool(const dirent&)>& visit) {
  return for_each_entry(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)), visit);
}

int for_each_entry(Fd directory, const std::function<bool(const dirent&)>& visit) {
  if (!directory) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(directory.get()), ::closedir);
  if (!entries) return errno;
  directory.release();  // closedir closes it
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(*entry)) return 0;
    errno = 0;
  }
  return errno;
}

std::vector<std::string> entries_of(const std::string& path) {
  std::vector<std::string> names;
  for_each_entry(path, [&](const dirent& entry) {
    if (entry.d_name[0] != '.') names.emplace_back(entry.d_name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

}  // namespace dlaunch::sys
