#include "link/pipe_reader.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <optional>
#include <utility>

namespace dlaunch::link {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTerminalHides = 128u << 10;  // what a terminal may hold and not count; more than its buffers
constexpr size_t kTurn = 256u << 10;  // then others have theirs: of many busy pipes none may keep the loop long
constexpr ssize_t kDefaultPipeSize = 64 << 10;  // a read that got all of it met a full pipe: a busy writer
constexpr int kBusyPipeSize = 1 << 20;

}  // namespace

class PipeReader::Impl : public std::enable_shared_from_this<PipeReader::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer)
      : fd_(io), timer_(io), scratch_(scratch), consumer_(std::move(consumer)) {
    fd_.assign(fd.release());  // the first wait makes it non-blocking
  }

  void resume() {
    if (!fd_.is_open() || waiting_) return;
    if (consumer_.allowance() == 0) return;
    waiting_ = true;
    fd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](asio::error_code error) {
      self->waiting_ = false;
      if (!error && self->fd_.is_open()) self->read();
    });
  }

  void rank_ended() {
    if (!fd_.is_open()) return;
    ended_ = true;
    drain_until_ = Clock::now() + kDrainLongest;
    owed_ = static_cast<size_t>(unread()) + (::isatty(fd_.native_handle()) == 1 ? kTerminalHides : 0);
    arm_drain_timer();
  }

  void close() {
    if (fd_.is_open()) sys::Fd(fd_.release());  // release() tells epoll; closing would not while a fork holds a copy
    timer_.cancel();
    consumer_ = {};
  }

 private:
  void read() {
    for (size_t left = kTurn; left >= PipeReader::kLeastRead;) {
      const size_t allowed = std::min({consumer_.allowance(), scratch_.size(), left});
      if (allowed == 0) return;
      const ssize_t got = TEMP_FAILURE_RETRY(::read(fd_.native_handle(), scratch_.data(), allowed));
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) return finish();  // the end; of a terminal too, which says EIO
      left -= static_cast<size_t>(got);
      deliver(got);
      if (!fd_.is_open()) return;
      if (got < kDefaultPipeSize && static_cast<size_t>(got) < allowed) break;  // it is empty now
    }
    resume();
  }

  void deliver(ssize_t got) {
    if (got >= kDefaultPipeSize && !std::exchange(enlarged_, true)) {
      ::fcntl(fd_.native_handle(), F_SETPIPE_SZ, kBusyPipeSize);  // refused over the user's quota: then it stays
    }
    if (ended_) arm_drain_timer();
    owed_ -= std::min(owed_, static_cast<size_t>(got));
    const auto data = consumer_.data;  // it may close us, which clears the consumer
    data({scratch_.data(), static_cast<size_t>(got)});
    if (ended_ && owed_ == 0 && Clock::now() >= drain_until_ && fd_.is_open()) finish();
  }

  void arm_drain_timer() {
    timer_.expires_after(kDrainIdle);
    timer_.async_wait([self = shared_from_this()](asio::error_code error) {
      if (!error && self->fd_.is_open()) self->give_up_if_empty();
    });
  }

  void give_up_if_empty() {
    if (consumer_.allowance() == 0) return arm_drain_timer();  // it is the reader that is slow, not the pipe
    if (unread() > 0) return arm_drain_timer();
    finish();
  }

  int unread() {
    int bytes = 0;
    ::ioctl(fd_.native_handle(), FIONREAD, &bytes);
    return bytes;
  }

  void finish() {
    const auto closed = std::move(consumer_.closed);
    close();
    if (closed) closed();
  }

  asio::posix::stream_descriptor fd_;
  asio::steady_timer timer_;
  std::span<char> scratch_;
  Consumer consumer_;
  bool waiting_ = false;
  bool ended_ = false;
  Clock::time_point drain_until_;
  size_t owed_ = 0;  // bytes that were in the pipe when the rank ended: the last that can be its own
  bool enlarged_ = false;
};

PipeReader::PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer)
    : impl_(std::make_shared<Impl>(io, std::move(fd), scratch, std::move(consumer))) {
  impl_->resume();
}
PipeReader::~PipeReader() { impl_->close(); }
void PipeReader::resume() { impl_->resume(); }
void PipeReader::rank_ended() { impl_->rank_ended(); }

}  // namespace dlaunch::link
