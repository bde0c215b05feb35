#include "output/own_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include "sys/clock.h"

namespace dlaunch::output {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLook = 500ms;
constexpr std::chrono::milliseconds kLookWhenFull = 100ms;
constexpr std::int64_t kFileClockLag = 20'000'000;  // times of files are those of the last timer tick

std::optional<FileState> state_of(const sys::Fd& fd, dev_t* device = nullptr) {
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (device) *device = facts.st_dev;
  return FileState{static_cast<std::uint64_t>(facts.st_size),
                   static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

/// Whether the user has no free space by the numbers of the file system, which know no quota. Root may have reserved
/// space on a file system without free space for other users.
bool is_full(int fd, bool with_reserved) {
  struct statvfs space{};
  if (::fstatvfs(fd, &space) != 0 || space.f_blocks == 0) return false;
  return (with_reserved && ::geteuid() == 0 ? space.f_bfree : space.f_bavail) == 0;
}

/// The errno of a small write to a new file without a name in the directory; 0 if the write succeeds. If the file
/// system cannot have a file without a name, its count of free blocks decides.
int try_to_write(const std::string& directory, int fd) {
  const sys::Fd file(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return is_full(fd, true) ? ENOSPC : 0;
  constexpr char kPage[4096] = {};
  return ::write(file.get(), kPage, sizeof kPage) == static_cast<ssize_t>(sizeof kPage) ? 0 : ENOSPC;
}

/// The file has the largest size that the rank may write (ulimit -f).
bool at_size_limit(const FileState& state) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && state.size >= limit.rlim_cur;
}

}  // namespace

bool write_failed(const FileState& before, const FileState& after) {
  return after.changed_ns > before.changed_ns && after.size == before.size;
}

bool may_be_cut(const std::optional<FileState>& start, const FileState& end, std::int64_t free_ns) {
  if (start ? start->changed_ns == end.changed_ns : end.size == 0) return false;
  return end.size == 0 || end.changed_ns + kFileClockLag >= free_ns;
}

void OwnFiles::add(std::uint32_t number, const std::string& path, sys::Fd fd, Since since) {
  File file{.fd = std::move(fd), .directory = path.substr(0, path.rfind('/') + 1), .start = {}, .when_full = {}};
  file.start = state_of(file.fd, &file.device);
  if (!file.start) return;
  if (since == Since::later) file.start.reset();
  if (const auto [device, fresh] = devices_.try_emplace(file.device); fresh) look_at(device->second, file.fd.get());
  files_.insert_or_assign(number, std::move(file));
}

void OwnFiles::rank_ended(std::uint32_t number) {
  const auto found = files_.find(number);
  if (found == files_.end()) return;
  File& file = found->second;
  int error = 0;
  if (const auto state = state_of(file.fd)) {
    if (at_size_limit(*state)) {
      error = EFBIG;
    } else if (file.when_full && write_failed(*file.when_full, *state)) {
      error = ENOSPC;
    } else if (may_be_cut(file.start, *state, devices_[file.device].free_ns)) {
      error = try_to_write(file.directory, file.fd.get());
    }
  }
  // A network file system reports failed writes of all processes of this machine to each open file.
  if (::close(file.fd.release()) != 0 && errno != EINTR) error = errno;
  report(number, file, error);
  files_.erase(found);
}

void OwnFiles::look() {
  if (files_.empty() || Clock::now() < next_look_) return;
  std::set<dev_t> seen;
  bool any_full = false;
  for (auto& [number, file] : files_) {
    Device& device = devices_[file.device];
    if (seen.insert(file.device).second) look_at(device, file.fd.get());
    any_full = any_full || device.full;
    if (!device.full && !file.when_full) continue;
    const auto state = state_of(file.fd);
    if (state && file.when_full && write_failed(*file.when_full, *state)) report(number, file, ENOSPC);
    file.when_full = device.full ? state : std::nullopt;
  }
  next_look_ = Clock::now() + (any_full ? kLookWhenFull : kLook);
}

void OwnFiles::look_at(Device& device, int fd) {
  device.full = is_full(fd, false);
  if (!device.full) device.free_ns = sys::wall_ns();
}

void OwnFiles::report(std::uint32_t number, File& file, int error) {
  if (error == 0 || std::exchange(file.reported, true)) return;
  lost_(number, error);
}

}  // namespace dlaunch::output
