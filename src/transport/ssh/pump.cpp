#include "transport/ssh/pump.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>

namespace dlaunch::transport::ssh {
namespace {

constexpr std::uint32_t kRead = 32u << 10;
constexpr size_t kWrite = 32u << 10;  // the largest packet that all versions of sshd accept
constexpr int kStdout = 0;
constexpr int kStderr = 1;

/// A queue of bytes; sending from the front does not move the remaining bytes.
class Buffer {
 public:
  bool empty() const { return sent_ == bytes_.size(); }
  std::string_view rest() const { return std::string_view(bytes_).substr(sent_); }
  void add(std::string_view bytes) { bytes_ += bytes; }
  void drop(size_t count) {
    sent_ += count;
    if (empty()) clear();
  }
  void clear() {
    bytes_.clear();
    sent_ = 0;
  }
  /// Frees the memory of an empty buffer: the buffer may stay empty for hours.
  void release() {
    if (empty()) bytes_.shrink_to_fit();
  }

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

class Pump {
 public:
  explicit Pump(const PumpEnds& ends) : ends_(ends), lib_(ends.lib), event_(lib_.ssh_event_new()) {
    lib_.ssh_event_add_session(event_, ends_.session);
    lib_.ssh_set_counters(ends_.session, &received_, nullptr);
  }
  ~Pump() {
    watch(ends_.stream, stream_events_, 0);
    watch(ends_.errors, errors_events_, 0);
    watch(ends_.noise, noise_events_, 0);
    lib_.ssh_set_counters(ends_.session, nullptr, nullptr);
    lib_.ssh_event_remove_session(event_, ends_.session);
    lib_.ssh_event_free(event_);
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  std::string run() {
    for (;;) {
      ends_.idle.set(false);  // before the first read from the stream
      if (!scratch_) scratch_ = std::make_unique_for_overwrite<char[]>(kRead);
      const std::uint64_t before = received_.in_bytes;
      bool moved = take_from_launcher();
      moved = send_to_host() || moved;
      moved = take_from_host(kStdout, to_launcher_) || moved;
      moved = take_from_host(kStderr, to_errors_) || moved;
      moved = take_noise() || moved;
      moved = give(ends_.stream, to_launcher_) || moved;
      moved = give(ends_.errors, to_errors_) || moved;
      if (lost_) return lib_.ssh_get_error(ends_.session);
      // A libssh call may read packets meant for an earlier call: run the loop again before waiting.
      if (moved || received_.in_bytes != before) continue;
      if (over()) return gone_ || host_ended_ || connected() ? "" : lib_.ssh_get_error(ends_.session);
      if (!wait()) return lib_.ssh_get_error(ends_.session);
    }
  }

 private:
  bool over() const {
    if (gone_) return to_host_.empty();
    return to_launcher_.empty() && to_errors_.empty() &&
           (host_ended_ || lib_.ssh_channel_is_closed(ends_.channel) != 0);
  }

  bool connected() const { return lib_.ssh_is_connected(ends_.session) != 0; }

  /// True if libssh has bytes that the socket has not accepted: libssh could hide a whole window from the launcher.
  bool congested() const { return (lib_.ssh_get_status(ends_.session) & SSH_WRITE_PENDING) != 0; }
  bool has_room() const { return !launcher_ended_ && to_host_.empty() && !congested(); }

  bool take_from_launcher() {
    if (!has_room()) return false;
    const ssize_t got = ::recv(ends_.stream.get(), scratch_.get(), kRead, MSG_DONTWAIT);
    if (got > 0) {
      to_host_.add({scratch_.get(), static_cast<size_t>(got)});
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      launcher_ended_ = true;
    }
    return got >= 0;
  }

  bool send_to_host() {
    bool moved = false;
    while (!to_host_.empty()) {
      const size_t window = lib_.ssh_channel_window_size(ends_.channel);
      const auto now = to_host_.rest().substr(0, std::min(window, kWrite));
      const int took =
          now.empty() ? 0 : lib_.ssh_channel_write(ends_.channel, now.data(), static_cast<uint32_t>(now.size()));
      if (took < 0 && took != SSH_AGAIN) not_taken();
      if (took <= 0) break;
      to_host_.drop(static_cast<size_t>(took));
      moved = true;
    }
    if (launcher_ended_ && to_host_.empty() && !eof_sent_) {
      eof_sent_ = true;
      lib_.ssh_channel_send_eof(ends_.channel);
    }
    return moved;
  }

  /// An exited program accepts no more bytes. The connection is still open, and the program's last output still
  /// arrives.
  void not_taken() {
    lost_ = !connected() || lib_.ssh_channel_is_closed(ends_.channel) == 0;
    to_host_.clear();
  }

  bool take_from_host(int which, Buffer& into) {
    if (!into.empty()) return false;
    const int got = lib_.ssh_channel_read_nonblocking(ends_.channel, scratch_.get(), kRead, which);
    if (got > 0) into.add({scratch_.get(), static_cast<size_t>(got)});
    if (got == SSH_ERROR) lost_ = true;
    if (which == kStdout && (got == SSH_EOF || (got == 0 && lib_.ssh_channel_is_eof(ends_.channel) != 0))) {
      host_ended_ = true;
    }
    return got > 0;
  }

  bool take_noise() {
    if (noise_ended_ || !to_errors_.empty()) return false;
    const ssize_t got = ::read(ends_.noise.get(), scratch_.get(), kRead);
    if (got > 0) to_errors_.add({scratch_.get(), static_cast<size_t>(got)});
    if (got == 0) noise_ended_ = true;
    return got > 0;
  }

  /// Drops the bytes if the reader is gone.
  bool give(const sys::Fd& to, Buffer& from) {
    if (from.empty()) return false;
    const ssize_t took = ::write(to.get(), from.rest().data(), from.rest().size());
    if (took < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (took < 0) {
      gone_ = gone_ || &to == &ends_.stream;
      from.clear();
      return true;
    }
    from.drop(static_cast<size_t>(took));
    return true;
  }

  /// Returns false if the connection is lost.
  bool wait() {
    scratch_.reset();
    for (Buffer* buffer : {&to_host_, &to_launcher_, &to_errors_}) buffer->release();
    watch(ends_.stream, stream_events_,
          static_cast<short>((has_room() ? POLLIN : 0) | (to_launcher_.empty() ? 0 : POLLOUT)));
    watch(ends_.errors, errors_events_, to_errors_.empty() ? short{0} : short{POLLOUT});
    watch(ends_.noise, noise_events_, to_errors_.empty() && !noise_ended_ ? short{POLLIN} : short{0});
    ends_.idle.set(to_host_.empty() && !congested());
    return lib_.ssh_event_dopoll(event_, -1) != SSH_ERROR;
  }

  void watch(const sys::Fd& fd, short& now, short wanted) {
    if (now == wanted) return;
    if (now != 0) lib_.ssh_event_remove_fd(event_, fd.get());
    now = wanted;
    if (wanted != 0) lib_.ssh_event_add_fd(event_, fd.get(), wanted, [](socket_t, int, void*) { return 0; }, nullptr);
  }

  const PumpEnds& ends_;
  const Library& lib_;
  const ssh_event event_;
  ssh_counter_struct received_{};
  short stream_events_ = 0;
  short errors_events_ = 0;
  short noise_events_ = 0;
  Buffer to_host_;
  Buffer to_launcher_;
  Buffer to_errors_;
  bool launcher_ended_ = false;  // the launcher sends no more bytes
  bool noise_ended_ = !ends_.noise;
  bool gone_ = false;  // and also reads no more bytes
  bool eof_sent_ = false;
  bool host_ended_ = false;
  bool lost_ = false;
  std::unique_ptr<char[]> scratch_;  // kRead bytes; freed while idle
};

}  // namespace

std::string pump(const PumpEnds& ends) { return std::make_unique<Pump>(ends)->run(); }

}  // namespace dlaunch::transport::ssh
