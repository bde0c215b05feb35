#include "output/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "output/file_layout.h"
#include "output/line_splitter.h"
#include "output/own_files.h"
#include "output/rotation.h"
#include "sys/fd.h"
#include "sys/file_lock.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::output {
namespace {

using Kind = DiskCommand::Kind;

constexpr std::size_t kReadSize = 256 * 1024;
constexpr mode_t kDirectoryMode = 0750;  // the mode of all directories of output files

class DiskProcess {
 public:
  DiskProcess(sys::HelperProcess::Ends ends, DiskProgress& progress)
      : ends_(ends),
        progress_(progress),
        own_files_([this](std::uint32_t file, int error) { send_failed(file, error); }) {}

  void run() {
    std::vector<char> buffer(kReadSize);
    for (;;) {
      wait_for_commands();
      const ssize_t got = ::read(ends_.in, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      take({buffer.data(), static_cast<std::size_t>(got)});
      write_gathered();
    }
    for (auto& [file, open] : files_) close(file, open);
    for (const Claimed& claimed : claimed_) {
      // Another job may append to the file, and then shares its lock.
      if (claimed.is_new && ::flock(claimed.fd.get(), LOCK_EX | LOCK_NB) == 0) sys::remove_if_empty(claimed.fd);
    }
    if (!emptied_) sys::remove_made(made_);
  }

 private:
  struct File {
    sys::Fd fd;
    bool failed = false;
  };

  /// A file that `empty` empties.
  struct Claimed {
    std::uint32_t file = 0;
    std::string path;
    sys::Fd fd = {};
    bool is_new = false;
    bool has_content = false;
    bool is_own = false;  // the rank opens the file itself
  };

  /// Meanwhile looks at the ranks' own files.
  void wait_for_commands() {
    for (int wait = own_files_.wait_ms(); wait >= 0; wait = own_files_.wait_ms()) {
      pollfd commands{ends_.in, POLLIN, 0};
      const bool ready = ::poll(&commands, 1, wait) > 0;
      const Kind before = progress_.at.exchange(Kind::look);
      own_files_.look();
      progress_.at = before;
      if (ready) return;
    }
  }

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (head_size_ < sizeof command_) {
        const std::size_t some = std::min(sizeof command_ - head_size_, bytes.size());
        std::memcpy(reinterpret_cast<char*>(&command_) + head_size_, bytes.data(), some);
        head_size_ += some;
        bytes.remove_prefix(some);
        left_ = command_.size;
        if (head_size_ < sizeof command_) return;
      }
      const std::string_view part = bytes.substr(0, left_);
      bytes.remove_prefix(part.size());
      left_ -= static_cast<std::uint32_t>(part.size());
      command_.kind == Kind::write ? gather(part) : void(path_ += part);
      if (left_ > 0) return;
      head_size_ = 0;
      if (command_.kind != Kind::write) act();
    }
  }

  /// Combines small writes to one file.
  void gather(std::string_view bytes) {
    if (!parts_.empty() && (gathered_for_ != command_.file || parts_.size() == IOV_MAX)) write_gathered();
    gathered_for_ = command_.file;
    if (!bytes.empty()) parts_.push_back({const_cast<char*>(bytes.data()), bytes.size()});
  }

  void write_gathered() {
    if (parts_.empty()) return;
    progress_.at = Kind::write;
    progress_.file = gathered_for_;
    File& to = files_[gathered_for_];
    std::size_t first = 0;
    while (first < parts_.size()) {
      ssize_t wrote = -1;
      if (!to.failed) wrote = ::writev(to.fd.get(), &parts_[first], static_cast<int>(parts_.size() - first));
      if (!to.failed && wrote < 0 && !sys::may_write_again(to.fd.get())) report_failure(gathered_for_, to, errno);
      if (to.failed) wrote = size_from(first);
      if (wrote > 0) progress_.taken += static_cast<std::uint64_t>(wrote);
      for (std::size_t left = static_cast<std::size_t>(std::max<ssize_t>(0, wrote)); left > 0;) {
        const std::size_t some = std::min(left, parts_[first].iov_len);
        left -= some;
        parts_[first].iov_base = static_cast<char*>(parts_[first].iov_base) + some;
        parts_[first].iov_len -= some;
        if (parts_[first].iov_len == 0) ++first;
      }
    }
    parts_.clear();
  }

  ssize_t size_from(std::size_t first) const {
    std::size_t size = 0;
    for (; first < parts_.size(); ++first) size += parts_[first].iov_len;
    return static_cast<ssize_t>(size);
  }

  void act() {
    write_gathered();
    progress_.at = command_.kind;
    progress_.file = command_.file;
    const std::string path = std::exchange(path_, {});
    refused_ = refused_ || gave_up();
    switch (command_.kind) {
      case Kind::lock:
        return lock(path, true);
      case Kind::lock_existing:
        return lock(path, false);
      case Kind::rotate:
        return rotate(path, command_.file);
      case Kind::create:
      case Kind::create_direct:
      case Kind::create_append:
        return create(path, command_.kind);
      case Kind::empty:
        return empty();
      case Kind::watch:
        return own_files_.add(command_.file, path, sys::create_file(path), OwnFiles::Since::later);
      case Kind::rank_ended:
        return own_files_.rank_ended(command_.file);
      case Kind::close:
        if (const auto found = files_.find(command_.file); found != files_.end()) {
          close(found->first, found->second);
          files_.erase(found);
        }
        return;
      case Kind::get_size:
      case Kind::get_size_tail:
        return get_size(path, command_.kind == Kind::get_size_tail);
      case Kind::sync:
        return sync(path);
      case Kind::write:
      case Kind::look:
        return;
    }
  }

  /// Before the ranks started.
  bool gave_up() const { return !emptied_ && ends_.gave_up(); }

  void lock(const std::string& path, bool create) {
    if (refused_) return;
    locked_path_ = path;
    if (!take_directory(create)) return;
    // Another job may have come and gone since the rotation.
    while (create && keep_ > 0 && has_files(directory_)) {
      if (!run_rotation() || !take_directory(true)) return;
    }
    send({WriterEvent::Kind::claimed, 0});
  }

  /// Locks the directory that has the name now. False: another job has the lock.
  bool take_directory(bool create) {
    for (;;) {
      const auto made =  // `create` reports an error
          create ? sys::HeldDirectory::make(locked_path_, kDirectoryMode, &made_)
                 : sys::HeldDirectory::open(locked_path_);
      directory_ = sys::Fd(made ? ::openat(made.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
      if (!lock_directory()) return false;
      struct stat locked{};
      struct stat named{};
      if (!directory_ || ::fstat(directory_.get(), &locked) != 0) return true;
      const bool is_named = ::stat(locked_path_.c_str(), &named) == 0;
      if (!is_named && errno != ENOENT) return true;
      // A job that had the lock may have renamed the directory before.
      if (is_named && locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) return true;
    }
  }

  static bool has_files(const sys::Fd& directory) {
    std::error_code ignored;
    return directory && !std::filesystem::is_empty("/proc/self/fd/" + std::to_string(directory.get()), ignored) &&
           !ignored;
  }

  /// False: another job has the lock.
  bool lock_directory() {
    const auto holder = directory_ ? sys::lock_file(directory_.get()) : std::nullopt;
    if (!holder) return true;
    refused_ = true;
    report_lock(WriterEvent{WriterEvent::Kind::locked, 0}, *holder, locked_path_);
    return false;
  }

  void report_lock(WriterEvent event, sys::LockHolder holder, const std::string& path) const {
    event.kind = WriterEvent::Kind::locked;
    event.size = static_cast<std::uint64_t>(holder.pid);
    send(event, path);
  }

  void rotate(const std::string& path, std::uint32_t keep) {
    if (refused_) return;
    keep_ = keep;
    locked_path_ = path;
    if (!directory_ && !take_directory(false)) return;  // the directory may be new
    if (run_rotation()) send({WriterEvent::Kind::rotated, 0});
  }

  bool run_rotation() {
    const std::string failed = Rotation(locked_path_, keep_, [this] { return gave_up(); }).run();
    if (failed.empty()) return true;
    WriterEvent event{WriterEvent::Kind::rotated, 0};
    event.error = errno;
    refused_ = true;
    send(event, failed);
    return false;
  }

  /// Another job may write a new file of this name at its end.
  static std::optional<sys::LockHolder> lock_claim(const std::string& path) {
    const sys::HeldPlace place = sys::HeldPlace::of(path);
    const sys::Fd claim =
        place ? place.directory.open_file(claimed_name(place.name), O_RDONLY | O_NONBLOCK) : sys::Fd();
    return claim ? sys::lock_file(claim.get()) : std::nullopt;
  }

  void create(const std::string& path, Kind kind) {
    const bool direct = kind == Kind::create_direct;
    const bool appends = kind == Kind::create_append;
    WriterEvent event{WriterEvent::Kind::created, command_.file};
    if (refused_) event.error = ECANCELED;
    if (refused_) return send(event);
    Claimed claimed{command_.file, path};
    sys::Created created;
    const bool is_named = sys::named_descriptor(path).has_value();
    claimed.fd = is_named ? sys::open_inherited(path) : sys::create_file(path, appends ? O_APPEND : 0, &created);
    claimed.is_new = created.file;
    if (!emptied_) std::ranges::move(created.directories, std::back_inserter(made_));
    struct stat facts{};
    if (!claimed.fd || ::fstat(claimed.fd.get(), &facts) != 0) {
      event.error = errno == ENXIO && !sys::is_fifo(path) ? ENODEV : errno;
      refused_ = !emptied_;
      return send(event);
    }
    if (S_ISREG(facts.st_mode) && !is_named) {
      auto holder = sys::lock_file(claimed.fd.get(), appends ? sys::Lock::shared : sys::Lock::exclusive);
      const auto claim = holder ? std::nullopt : lock_claim(path);
      if (claim && created.file) sys::remove_if_empty(claimed.fd);
      if (claim) holder = claim;
      if (holder) {
        refused_ = !emptied_;
        return report_lock(event, *holder, path);
      }
      claimed.has_content = facts.st_size > 0 && !appends;
    }
    if (claimed.has_content) {
      event.size = static_cast<std::uint64_t>(facts.st_size);
      event.time_ns = static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
    }
    const bool polled = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) || ::isatty(claimed.fd.get()) == 1;
    if (polled && !direct) {
      event.has_fd = 1;
      return send(event, {}, {&claimed.fd, 1});
    }
    // A FIFO that the rank opens itself stays open here. Otherwise its reader could see an early end of file.
    claimed.is_own = direct && !polled;
    claimed_.push_back(std::move(claimed));
    send(event);
    if (emptied_) empty();
  }

  /// Empties the new files.
  void empty() {
    if (refused_) return;
    // The process of an earlier round may have had the lock until the thaw of a disk.
    if (!emptied_ && !lock_directory()) return;
    for (Claimed& claimed : std::exchange(claimed_, {})) {
      progress_.file = claimed.file;
      const int error = claimed.has_content && ::ftruncate(claimed.fd.get(), 0) != 0 ? errno : 0;
      if (error != 0) send_failed(claimed.file, error);
      if (claimed.is_own) {
        own_files_.add(claimed.file, claimed.path, std::move(claimed.fd), OwnFiles::Since::before_the_rank);
      } else {
        files_[claimed.file] = {std::move(claimed.fd), error != 0};
      }
    }
    made_.clear();
    if (!std::exchange(emptied_, true)) send({WriterEvent::Kind::emptied, 0});
  }

  void close(std::uint32_t file, File& open) {
    progress_.at = Kind::close;
    progress_.file = file;
    if (!open.fd || ::close(open.fd.release()) == 0 || errno == EINTR || open.failed) return;
    report_failure(file, open, errno);
  }

  void get_size(const std::string& path, bool tail) {
    WriterEvent event{WriterEvent::Kind::size, command_.file};
    std::string text;
    const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat facts{};
    if (fd && ::fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      event.size = static_cast<std::uint64_t>(facts.st_size);
      const std::uint64_t wanted = tail ? std::min<std::uint64_t>(event.size, kTailBytes) : 0;
      text.resize(wanted);
      const ssize_t got = ::pread(fd.get(), text.data(), wanted, static_cast<off_t>(event.size - wanted));
      text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    }
    send(event, text);
  }

  static void sync(const std::string& path) {
    const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd) ::fdatasync(fd.get());
  }

  void report_failure(std::uint32_t file, File& of, int error) {
    of.failed = true;
    send_failed(file, error);
  }

  void send_failed(std::uint32_t file, int error) {
    ++progress_.failed;
    send({.kind = WriterEvent::Kind::failed, .file = file, .error = error, .size = progress_.taken});
  }

  /// If the launcher has exited, events are dropped, but queued bytes are still written.
  void send(WriterEvent event, std::string_view text = {}, std::span<const sys::Fd> fds = {}) const {
    event.text = static_cast<std::uint32_t>(text.size());
    std::string bytes(reinterpret_cast<const char*>(&event), sizeof event);
    bytes += text;
    const ssize_t sent = sys::send_some(ends_.out, bytes, fds);
    if (sent > 0) sys::write_all(ends_.out, std::string_view(bytes).substr(static_cast<std::size_t>(sent)));
  }

  const sys::HelperProcess::Ends ends_;
  DiskProgress& progress_;
  DiskCommand command_{};
  std::size_t head_size_ = 0;  // received bytes of the command's header
  std::uint32_t left_ = 0;     // missing bytes after the header
  std::string path_;
  std::vector<iovec> parts_;
  std::uint32_t gathered_for_ = 0;
  std::unordered_map<std::uint32_t, File> files_;
  OwnFiles own_files_;
  sys::Fd directory_;  // holds the lock of the log directory
  std::string locked_path_;
  std::uint32_t keep_ = 0;  // renamed directories; 0: the files are overwritten
  std::vector<Claimed> claimed_;
  std::vector<std::string> made_;  // created directories, until `empty`
  bool emptied_ = false;           // all files of the first ranks
  bool refused_ = false;           // the job does not start: create nothing
};

}  // namespace

void run_disk_process(sys::HelperProcess::Ends ends, DiskProgress& progress) { DiskProcess(ends, progress).run(); }

}  // namespace dlaunch::output
