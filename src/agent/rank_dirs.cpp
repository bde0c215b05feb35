#include "agent/rank_dirs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/try.h"
#include "sys/directory.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

constexpr mode_t kDirMode = 0777;
constexpr mode_t kMarkerMode = 0600;
constexpr std::string_view kMarkerText =
    "dlaunch --rank-dir made this directory. The next job that uses this directory removes all its files.\n";

tl::unexpected<Error> failed(const std::string& what, int error, std::string hint = {}) {
  return fail({.where = "", .what = what, .why = std::strerror(error), .hint = std::move(hint)});
}

tl::unexpected<Error> refused(std::string what, std::string hint) {
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

bool is_below(const std::string& name, const std::string& dir) {
  return name.size() > dir.size() && name.starts_with(dir) && name[dir.size()] == '/';
}

bool is_kept(const std::string& name, const std::vector<std::string>& kept) {
  return std::ranges::find(kept, name) != kept.end();
}

bool holds_kept(const std::string& name, const std::vector<std::string>& kept) {
  return std::ranges::any_of(kept, [&](const std::string& file) { return is_below(file, name); });
}

/// Calls visit(path, is_directory) for each entry until it returns false. Does not follow links. Returns 0 or errno.
template <class Visit>
int for_each_path(const std::string& dir, Visit visit) {
  return sys::for_each_entry(dir, [&](const dirent& entry) {
    const std::string path = dir + '/' + entry.d_name;
    struct stat info{};
    return visit(path, ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode));
  });
}

/// Whether the directory contains only new files of the launcher.
bool is_unused(const std::string& dir, const std::vector<std::string>& kept) {
  bool unused = true;
  const int error = for_each_path(dir, [&](const std::string& name, bool is_directory) {
    unused = is_directory ? holds_kept(name, kept) && is_unused(name, kept) : is_kept(name, kept);
    return unused;
  });
  return error == 0 && unused;
}

/// Allows only one job at a time in the directory; on a file system without locks there is no protection.
Result<void> lock(const sys::Fd& marker, const std::string& dir) {
  if (::flock(marker.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return refused(dir + ": a running job uses this directory", "wait for the other job, or set another directory");
}

/// The directory's marker, locked; empty if the directory is missing or unused.
Result<sys::Fd> lock_marker(const std::string& dir, const std::vector<std::string>& kept) {
  struct stat info{};
  if (::stat(dir.c_str(), &info) != 0) {
    if (errno == ENOENT) return sys::Fd();
    return failed("cannot read " + dir, errno);
  }
  if (!S_ISDIR(info.st_mode)) return refused(dir + " is not a directory", "set another directory with --rank-dir");
  sys::Fd marker(::open((dir + '/' + kRankDirMarker).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (marker) return lock(marker, dir).map([&] { return std::move(marker); });
  if (errno != ENOENT) return failed("cannot open " + dir + '/' + kRankDirMarker, errno);
  if (is_unused(dir, kept)) return sys::Fd();
  return refused(dir + " is not empty, and --rank-dir did not create it",
                 "remove it, or set another directory with --rank-dir");
}

Result<sys::Fd> make(const std::string& dir) {
  if (const int error = sys::make_directories(dir, kDirMode); error != 0) return failed("cannot create " + dir, error);
  const std::string name = dir + '/' + kRankDirMarker;
  sys::Fd marker(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMarkerMode));
  if (!marker || ::write(marker.get(), kMarkerText.data(), kMarkerText.size()) < 0) {
    return failed("cannot write " + name, errno);
  }
  return lock(marker, dir).map([&] { return std::move(marker); });
}

Result<void> check_base(const std::string& base) {
  struct stat info{};
  int error = ::stat(base.c_str(), &info) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(info.st_mode)) error = ENOTDIR;
  if (error == 0) return {};
  return failed("directory " + base, error, "set another directory with --wdir, or create this directory on the host");
}

/// Returns 0 or an errno.
int remove_all_in(const std::string& dir, const std::vector<std::string>& kept) {
  int failure = 0;
  const int error = for_each_path(dir, [&](const std::string& name, bool is_directory) {
    if (is_kept(name, kept)) return true;
    if (is_directory) failure = remove_all_in(name, kept);
    if (failure != 0 || (is_directory && holds_kept(name, kept))) return failure == 0;
    if ((is_directory ? ::rmdir(name.c_str()) : ::unlink(name.c_str())) != 0 && errno != ENOENT) failure = errno;
    return failure == 0;
  });
  return failure != 0 ? failure : error;
}

}  // namespace

Result<TakenDirs> take_rank_dirs(const wire::Prepare& asked) {
  TakenDirs taken;
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    if (i < asked.bases.size()) {
      TRY(check_base(asked.bases[i]));
    }
    auto marker = TRY(lock_marker(asked.dirs[i], asked.kept));
    taken.used = taken.used || marker;
    taken.locks.push_back(std::move(marker));
  }
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    if (taken.locks[i]) continue;
    auto marker = TRY(make(asked.dirs[i]));
    taken.locks[i] = std::move(marker);
  }
  return taken;
}

Result<void> empty_rank_dir(const std::string& dir, const std::vector<std::string>& kept) {
  std::vector<std::string> stays = {dir + '/' + kRankDirMarker};
  std::ranges::copy_if(kept, std::back_inserter(stays), [&](const std::string& file) { return is_below(file, dir); });
  const int error = remove_all_in(dir, stays);
  if (error != 0) return failed("cannot empty " + dir, error);
  return {};
}

}  // namespace dlaunch::agent
