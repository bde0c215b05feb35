#include "agent/rank_dirs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <thread>
#include <tuple>

#include "base/shared_texts.h"
#include "base/time.h"
#include "base/try.h"
#include "sys/file_lock.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kPause{20};  // between attempts
constexpr std::chrono::seconds kRemovalWait{1};
constexpr mode_t kDirMode = 0775;  // not writable by all users, whatever the umask
constexpr mode_t kMarkerMode = 0600;
constexpr int kMarkerFlags = O_RDWR | O_NONBLOCK;
constexpr std::string_view kMarkerText =
    "dlaunch --rank-dir made this directory. The next job that uses this directory removes all its files.\n";
constexpr const char* kAnother = "set another directory with --rank-dir";

constexpr std::string_view kTaker = "taken by job ";
constexpr size_t kMostMarker = 4096;

std::string filled_text(const std::string& job) { return std::string(kMarkerText) + "job " + job + '\n'; }

std::string read_marker(const sys::Fd& marker) {
  std::string text(kMostMarker, '\0');
  const ssize_t got = ::pread(marker.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

void write_marker(const sys::Fd& marker, std::string_view text) {
  const bool written = ::pwrite(marker.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  std::ignore = written ? ::ftruncate(marker.get(), static_cast<off_t>(text.size())) : -1;
}

std::string without_taker(const std::string& text) { return text.substr(0, text.find(kTaker)); }

/// Changes the note about the taker. The time of the marker stays: a job that is refused changes nothing.
void write_note(const sys::Fd& marker, const std::string& text) {
  struct stat before{};
  if (::fstat(marker.get(), &before) != 0) return;
  write_marker(marker, text);
  const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, before.st_mtim};
  ::futimens(marker.get(), times);
}

/// If another job has filled the directory, notes in the marker that this job has the lock. The other job then does not
/// take the directory without a lock.
void note_taker(const sys::Fd& marker, const std::string& job) {
  const std::string text = read_marker(marker);
  const std::string filled = without_taker(text);
  const bool of_another = filled.size() > kMarkerText.size() && filled != filled_text(job);
  const std::string noted = of_another ? filled + std::string(kTaker) + job + '\n' : filled;
  if (noted != text) write_note(marker, noted);
}

void remove_taker(const sys::Fd& marker) {
  const std::string text = read_marker(marker);
  const std::string filled = without_taker(text);
  if (filled != text) write_note(marker, filled);
}

tl::unexpected<Error> failed(const std::string& what, int error, std::string hint = {}) {
  return fail({.where = "", .what = what, .why = sys::why_not_opened(error), .hint = std::move(hint)});
}

tl::unexpected<Error> refused(std::string what, std::string hint) {
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// Paths relative to `dir`.
std::vector<std::string> below(const std::string& dir, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (name.size() > dir.size() + 1 && name.starts_with(dir) && name[dir.size()] == '/') {
      found.push_back(name.substr(dir.size() + 1));
    }
  }
  return found;
}

/// Paths relative to `dir` that are not removed.
std::vector<std::string> to_keep(const std::string& dir, const std::vector<std::string>& kept) {
  std::vector<std::string> stays = below(dir, kept);
  stays.emplace_back(kRankDirMarker);
  return stays;
}

/// Whether the directory contains only new files of the launcher.
bool is_unused(const sys::HeldDirectory& directory, const std::vector<std::string>& kept) {
  bool unused = true;
  const int error = directory.for_each_entry([&](const dirent& entry) {
    const std::string name = entry.d_name;
    const auto facts = directory.facts_of(name);
    if (facts && S_ISDIR(facts->st_mode)) {
      const auto kept_in_it = below(name, kept);
      const sys::HeldDirectory inner = kept_in_it.empty() ? sys::HeldDirectory() : directory.open_below(name);
      unused = inner && is_unused(inner, kept_in_it);
    } else {
      unused = std::ranges::find(kept, name) != kept.end();
    }
    return unused;
  });
  return error == 0 && unused;
}

tl::unexpected<Error> in_use(const std::string& dir) {
  return refused(dir + ": a running job uses this directory", "wait for the other job, or set another directory");
}

/// How to take directories.
struct Terms {
  const std::string& job;
  const std::vector<std::string>& kept;  // files of the launcher
  const bool later;                      // a later round
  const Time until;                      // the end of the wait for locks
};

/// Calls `try_it` until success or the end of the wait.
bool succeeds(const Terms& terms, const std::function<bool()>& try_it) {
  while (!try_it()) {
    if (Clock::now() >= terms.until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

/// Allows only one job at a time in the directory; on a file system without locks there is no protection. A job that
/// was refused may have removed the marker since it was opened: undo_rank_dirs(). A frozen agent of this job keeps its
/// locks: a later round takes the directory without a lock, unless another job has taken the directory.
Result<void> lock(const sys::Fd& marker, const std::string& dir, const Terms& terms) {
  struct stat facts{};
  const bool locked = succeeds(terms, [&] { return sys::try_lock(marker.get()); });
  const bool permitted = locked || (terms.later && read_marker(marker) == filled_text(terms.job));
  if (!permitted || ::fstat(marker.get(), &facts) != 0 || facts.st_nlink == 0) return in_use(dir);
  if (locked) note_taker(marker, terms.job);
  return {};
}

/// `left` is relative to `dir`; empty: the directory.
tl::unexpected<Error> cannot_remove(const std::string& dir, const std::string& left, int error) {
  return failed(left.empty() ? "cannot empty " + dir : "cannot remove " + dir + '/' + left, error, kAnother);
}

/// An Error if a job or program has locked the directory or a file below, which would be removed, and if a file or
/// directory below cannot be removed.
Result<void> check_unused_below(const sys::HeldDirectory& directory, const std::string& dir,
                                const std::vector<std::string>& kept) {
  const auto obstacle = directory.obstacle_below(kept);
  if (!obstacle) return {};
  if (obstacle->error != 0) return cannot_remove(dir, obstacle->path, obstacle->error);
  return refused("cannot empty " + dir + ": a running job or program has locked " + obstacle->path,
                 "wait until the job or program ends, or " + std::string(kAnother));
}

/// The owner that this user's files have in the directory. A network file system may change the owner of all files.
bool is_own(uid_t owner, const sys::HeldDirectory& directory) {
  return owner == ::geteuid() || directory.owner_of_new_files() == owner;
}

/// An empty text if only this user and root can replace the content of the directory.
Result<void> check_directory(const sys::HeldDirectory& directory, const std::string& dir) {
  const auto facts = directory.facts();
  if (!facts) return failed("cannot read " + dir, errno);
  if ((facts->st_mode & S_IWOTH) != 0) {
    return refused("all users can write to " + dir, "run chmod o-w on the directory, or " + std::string(kAnother));
  }
  if (facts->st_uid == 0 || is_own(facts->st_uid, directory)) return {};
  return refused(dir + " belongs to another user", kAnother);
}

Result<void> check_marker(const sys::Fd& marker, const RankDir& taken, const std::string& name) {
  struct stat facts{};
  if (::fstat(marker.get(), &facts) != 0) return failed("cannot read " + name, errno);
  if (!S_ISREG(facts.st_mode)) return refused(name + " is not a file", kAnother);
  if (facts.st_nlink != 1) return refused(name + " is a hard link", kAnother);
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refused("other users can write to " + name, kAnother);
  if (!is_own(facts.st_uid, taken.directory)) return refused(name + " belongs to another user", kAnother);
  return {};
}

/// A rank can have made the marker read-only.
sys::Fd open_marker(const sys::HeldDirectory& directory) {
  sys::Fd marker = directory.open_file(kRankDirMarker, kMarkerFlags);
  if (marker || errno != EACCES) return marker;
  return directory.open_file(kRankDirMarker, O_RDONLY | O_NONBLOCK);
}

constexpr mode_t kReadable = S_IRUSR | S_IXUSR;

/// Whether a job uses a directory that must be opened first: the disk may hang before the mode is restored.
bool is_closed_in_use(const sys::HeldDirectory& directory) {
  const auto facts = directory.facts();
  if (!facts || (facts->st_mode & kReadable) == kReadable) return false;
  const std::vector<std::string> locked = sys::locked_by_jobs(directory.fd());
  return std::ranges::find(locked, kRankDirMarker) != locked.end();
}

/// Checks an existing directory, and locks its marker; without a marker the directory must be unused.
Result<RankDir> examine(sys::HeldDirectory directory, const std::string& dir, const Terms& terms) {
  TRY(check_directory(directory, dir));
  RankDir taken{std::move(directory), {}};
  if (!succeeds(terms, [&] { return !is_closed_in_use(taken.directory); })) return in_use(dir);
  const sys::OpenedDirectory opened(taken.directory, kReadable);  // a rank may have closed it
  const std::string name = dir + '/' + kRankDirMarker;
  sys::Fd marker = open_marker(taken.directory);
  if (!marker && errno != ENOENT) return failed("cannot open " + name, errno, kAnother);
  if (!marker) {
    if (is_unused(taken.directory, below(dir, terms.kept))) return taken;
    return refused(dir + " is not empty, and --rank-dir did not create it",
                   "remove it, or set another directory with --rank-dir");
  }
  TRY(check_marker(marker, taken, name));
  TRY(lock(marker, dir, terms));
  taken.marker = std::move(marker);
  if (is_filled(taken, terms.job)) return taken;
  const auto unused = check_unused_below(taken.directory, dir, to_keep(dir, terms.kept));
  if (unused) return taken;
  remove_taker(taken.marker);
  return tl::unexpected(unused.error());
}

/// Does nothing if the directory is missing.
Result<RankDir> look(const std::string& dir, const Terms& terms) {
  sys::HeldDirectory directory = sys::HeldDirectory::open(dir);
  if (directory) return examine(std::move(directory), dir, terms);
  if (errno == ENOENT) return RankDir{};
  if (errno == ENOTDIR) return refused(dir + " is not a directory", kAnother);
  return failed(errno == ELOOP ? dir : "cannot read " + dir, errno, errno == ELOOP ? kAnother : "");
}

/// Creates the directory, unless `taken` has it open. Creates and locks the marker of the directory.
Result<void> make(RankDir& taken, std::vector<std::string>& made, const std::string& dir, const Terms& terms) {
  if (!taken.directory) {
    sys::HeldDirectory directory = sys::HeldDirectory::make(dir, kDirMode, &made);
    if (!directory) return failed("cannot create " + dir, errno);
    taken = TRY(examine(std::move(directory), dir, terms));  // another user can have been faster
    if (taken.marker) return {};
  }
  const std::string name = dir + '/' + kRankDirMarker;
  sys::Fd marker = taken.directory.open_file(kRankDirMarker, kMarkerFlags | O_CREAT, kMarkerMode);
  if (!marker) return failed("cannot write " + name, errno);
  TRY(check_marker(marker, taken, name));
  TRY(lock(marker, dir, terms));
  taken.marker = std::move(marker);
  taken.has_new_marker = true;
  if (::write(taken.marker.get(), kMarkerText.data(), kMarkerText.size()) >= 0) return {};
  return failed("cannot write " + name, errno);
}

Result<void> check_base(const std::string& base) {
  struct stat info{};
  int error = ::stat(base.c_str(), &info) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(info.st_mode)) error = ENOTDIR;
  if (error == 0) return {};
  return failed(std::string(kCannotEnterWorkingDirectory) + base, error,
                "set another directory with --wdir, or create this directory on the host");
}

}  // namespace

Result<void> take_rank_dirs(const wire::Prepare& asked, const std::string& job, const AtPath& at, TakenDirs& taken,
                            std::chrono::milliseconds wait) {
  const Terms terms{job, asked.kept, asked.later, asked.later ? Clock::now() + wait : Clock::now()};
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    if (i < asked.bases.size()) {
      at(asked.bases[i]);
      TRY(check_base(asked.bases[i]));
    }
    at(asked.dirs[i]);
    auto dir = TRY(look(asked.dirs[i], terms));
    taken.dirs.push_back(std::move(dir));
  }
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    if (taken.dirs[i].marker) continue;
    at(asked.dirs[i]);
    TRY(make(taken.dirs[i], taken.made, asked.dirs[i], terms));
  }
  return {};
}

bool is_filled(const RankDir& dir, const std::string& job) {
  return without_taker(read_marker(dir.marker)) == filled_text(job);
}

void mark_filled(const RankDir& dir, const std::string& job) { write_marker(dir.marker, filled_text(job)); }

void mark_unfilled(const RankDir& dir) { write_marker(dir.marker, kMarkerText); }

void undo_rank_dirs(const TakenDirs& taken) {
  for (const RankDir& dir : taken.dirs) {
    if (dir.marker) remove_taker(dir.marker);
    if (dir.has_new_marker) dir.directory.remove_file(kRankDirMarker);
  }
  const Time until = Clock::now() + kRemovalWait;  // on a shared disk, other hosts remove their directories meanwhile
  while (!sys::remove_made(taken.made) && Clock::now() < until) std::this_thread::sleep_for(kPause);
}

Result<void> empty_rank_dir(const sys::HeldDirectory& directory, const std::string& dir,
                            const std::vector<std::string>& kept) {
  const std::vector<std::string> stays = to_keep(dir, kept);
  TRY(check_unused_below(directory, dir, stays));  // since take_rank_dirs(), another job may have locked a file
  std::string left;
  const int error = directory.remove_content(stays, &left);
  if (error == 0) return {};
  return cannot_remove(dir, left, error);
}

}  // namespace dlaunch::agent
