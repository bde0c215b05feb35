#include "output/fd_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dlaunch::output {
namespace {

constexpr std::size_t kMaxParts = 8;
constexpr int kPipeSize = 1 << 20;  // fewer context switches between launcher and reader; best effort
constexpr std::size_t kKeepCapacity = 64 * 1024;

bool is_ptmx(const struct stat& s) { return major(s.st_rdev) == 5 && minor(s.st_rdev) == 2; }

std::size_t total_size(std::span<const std::string_view> parts) {
  std::size_t total = 0;
  for (const std::string_view part : parts) total += part.size();
  return total;
}

/// The non-empty parts after the first `skip` bytes, up to `limit` bytes.
struct Vector {
  std::array<iovec, kMaxParts> parts{};
  std::size_t count = 0;

  Vector(std::span<const std::string_view> from, std::size_t skip, std::size_t limit) {
    for (std::string_view part : from) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      part.remove_prefix(skipped);
      part = part.substr(0, limit);
      limit -= part.size();
      if (part.empty() || count == kMaxParts) continue;
      parts[count++] = {const_cast<char*>(part.data()), part.size()};
    }
  }
};

}  // namespace

FdWriter::FdWriter(int fd, bool owned, std::optional<Way> way)
    : fd_(fd), owned_(owned), way_(way.value_or(Way::direct)) {
  if (!way) choose_way();
}

FdWriter FdWriter::owned(int fd) {
  const bool nonblocking = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
  return FdWriter(fd, true, nonblocking ? std::optional(Way::nonblocking) : std::nullopt);
}

FdWriter FdWriter::pipe(int fd) {
  fcntl(fd, F_SETPIPE_SZ, kPipeSize);
  return FdWriter(fd, false, Way::nonblocking);
}

FdWriter FdWriter::failed(int error) {
  FdWriter writer(-1, true);
  writer.error_ = error;
  return writer;
}

FdWriter::FdWriter(FdWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owned_(other.owned_),
      way_(other.way_),
      reopened_(std::exchange(other.reopened_, -1)),
      relay_(std::exchange(other.relay_, nullptr)),
      file_(std::exchange(other.file_, -1)),
      error_(other.error_),
      mid_line_(other.mid_line_),
      queue_(std::move(other.queue_)),
      sent_(other.sent_),
      written_(other.written_) {}

FdWriter::~FdWriter() { close(); }

void FdWriter::choose_way() {
  struct stat s{};
  if (fstat(fd_, &s) != 0) return;
  if (S_ISSOCK(s.st_mode)) way_ = Way::socket;
  if (S_ISFIFO(s.st_mode)) fcntl(fd_, F_SETPIPE_SZ, kPipeSize);
  const bool terminal = S_ISCHR(s.st_mode) && isatty(fd_) != 0;
  if (!S_ISFIFO(s.st_mode) && !terminal) return;
  way_ = Way::polled;
  // Opening /dev/ptmx again would create a new terminal.
  if (!is_ptmx(s)) reopen();
}

void FdWriter::reopen() {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  reopened_ = open(self.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (reopened_ >= 0) way_ = Way::nonblocking;
}

/// If no process can be started, the bytes go to the file directly.
void FdWriter::start_relay() {
  FileRelay* const relay = std::exchange(relay_, nullptr);
  const int pipe = relay->start(fd_);
  if (pipe < 0) return;
  fcntl(pipe, F_SETPIPE_SZ, kPipeSize);
  relay_ = relay;
  file_ = std::exchange(fd_, pipe);
  way_ = Way::nonblocking;
}

void FdWriter::leave_relay() {
  relay_ = nullptr;
  if (file_ < 0) return;
  fd_ = std::exchange(file_, -1);
  way_ = Way::direct;
}

int FdWriter::find_relay_error() {
  if (file_ < 0 || error_ != 0 || relay_->error() == 0) return 0;
  const int error = relay_->error();
  give_up();
  error_ = error;
  mid_line_ = true;
  leave_relay();
  return error;
}

void FdWriter::write(std::span<const std::string_view> parts) {
  if (error_ != 0) return;
  if (relay_ && file_ < 0 && total_size(parts) > 0) start_relay();
  for (const std::string_view part : parts) {
    if (!part.empty()) mid_line_ = part.back() != '\n';
  }
  const std::size_t done = pending() == 0 ? write_now(parts) : 0;
  if (error_ == 0) queue_rest(parts, done);
}

void FdWriter::overlay(std::string_view bytes) {
  const bool mid_line = mid_line_;
  write(bytes);
  mid_line_ = mid_line;
}

void FdWriter::flush() {
  if (pending() == 0) return;
  const std::string_view rest = std::string_view(queue_).substr(sent_);
  sent_ += write_now({&rest, 1});
  if (error_ != 0) sent_ = queue_.size();
  if (sent_ < queue_.size()) return;
  queue_.clear();
  sent_ = 0;
  if (queue_.capacity() > kKeepCapacity) queue_.shrink_to_fit();
}

void FdWriter::write_after_failure(std::string_view line) {
  if (error_ == ETIMEDOUT) return;
  const std::array<std::string_view, 2> parts{mid_line_ ? "\n" : "", line};
  const int first = std::exchange(error_, 0);
  mid_line_ = write_now(parts) < total_size(parts);
  error_ = first;
}

void FdWriter::give_up() {
  error_ = ETIMEDOUT;
  queue_.clear();
  sent_ = 0;
}

std::size_t FdWriter::write_now(std::span<const std::string_view> parts) {
  const std::size_t total = total_size(parts);
  std::size_t done = 0;
  while (done < total) {
    const std::size_t limit = way_ == Way::polled ? PIPE_BUF : SIZE_MAX;
    Vector rest(parts, done, limit);
    pollfd ready{fd_, POLLOUT, 0};
    if (way_ == Way::polled && poll(&ready, 1, 0) == 0) break;
    msghdr message{};
    message.msg_iov = rest.parts.data();
    message.msg_iovlen = rest.count;
    const ssize_t n = way_ == Way::socket ? sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
                                          : writev(poll_fd(), rest.parts.data(), static_cast<int>(rest.count));
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
      written_ += static_cast<std::uint64_t>(n);
    } else if (errno != EINTR && !wait_or_give_up()) {
      break;
    }
  }
  return done;
}

/// Whether to retry a failed write now. Waits for a regular file that another process made non-blocking, because epoll
/// does not support regular files.
bool FdWriter::wait_or_give_up() {
  const int error = errno;
  if (error != EAGAIN) {
    error_ = error;
    if (file_ >= 0) {
      relay_->set_closed();
      error_ = relay_->error();
    }
    leave_relay();     // it has ended, and write_after_failure() may reach the file
    mid_line_ = true;  // dropped bytes: the line may end anywhere
    return false;
  }
  if (way_ != Way::direct) return false;
  pollfd ready{fd_, POLLOUT, 0};
  poll(&ready, 1, 100);
  return true;
}

void FdWriter::queue_rest(std::span<const std::string_view> parts, std::size_t skip) {
  if (sent_ > queue_.size() / 2) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
  for (std::string_view part : parts) {
    const std::size_t skipped = std::min(skip, part.size());
    skip -= skipped;
    queue_ += part.substr(skipped);
  }
}

void FdWriter::close() {
  if (reopened_ >= 0) ::close(std::exchange(reopened_, -1));
  if (!owned_ || fd_ < 0) return;
  if (::close(std::exchange(fd_, -1)) != 0 && error_ == 0 && errno != EINTR) error_ = errno;
}

}  // namespace dlaunch::output
