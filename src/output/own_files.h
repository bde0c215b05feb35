// OwnFiles: finds out whether files that ranks write themselves are cut. The kernel reports a failed write only to the
// rank, and the rank may ignore the error. Evidence: a write that fails for lack of space changes the time of the
// file's last change, but not its size. Owned by the disk process, because each call may hang with the file system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "sys/fd.h"

namespace dlaunch::output {

struct FileState {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  ///< time of the last change of the content, by the clock of the file system
};

/// Whether a write to the end of the file failed between two states of the file. Pure.
bool write_failed(const FileState& before, const FileState& after);

/// Whether a rank's last write may have failed, if the file system has no free space at the end of the rank. Pure.
/// `start` is the state before the rank's first write, if known; the file system had free space at `free_ns`.
bool may_be_cut(const std::optional<FileState>& start, const FileState& end, std::int64_t free_ns);

class OwnFiles {
 public:
  using Lost = std::function<void(std::uint32_t file, int error)>;
  explicit OwnFiles(Lost lost) : lost_(std::move(lost)) {}

  enum class Since { before_the_rank, later };
  /// Ignores files that are not regular.
  void add(std::uint32_t file, const std::string& path, sys::Fd fd, Since since);
  /// Calls `lost` if bytes of the rank may be missing, and closes the file.
  void rank_ended(std::uint32_t file);

  /// Milliseconds until look() is due; -1 without files.
  int wait_ms() const { return files_.empty() ? -1 : milliseconds_until(next_look_); }
  /// Compares the files on full file systems with their state at the previous call.
  void look();

 private:
  struct File {
    sys::Fd fd;
    std::string directory;
    dev_t device = 0;
    std::optional<FileState> start;      // before the rank's first write, if known
    std::optional<FileState> when_full;  // at the previous look, if the file system was full
    bool reported = false;
  };
  struct Device {
    bool full = false;
    std::int64_t free_ns = 0;  // last time with free space
  };
  void look_at(Device& device, int fd);
  void report(std::uint32_t number, File& file, int error);

  const Lost lost_;
  std::unordered_map<std::uint32_t, File> files_;
  std::map<dev_t, Device> devices_;
  Time next_look_;
};

}  // namespace dlaunch::output
