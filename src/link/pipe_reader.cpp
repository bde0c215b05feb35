#include "link/pipe_reader.h"
#include "base/time.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <string>
#include <utility>

namespace dlaunch::link {
namespace {

constexpr size_t kTerminalHides = 128u << 10;  // more than the buffers of a terminal, which FIONREAD does not count
constexpr size_t kTurn = 256u << 10;           // then other readers get their turn: a busy pipe must not block the loop
constexpr ssize_t kDefaultPipeSize = 64 << 10;  // a read of this size found a full pipe: its writer is busy
constexpr int kBusyPipeSize = 1 << 20;

}  // namespace

class PipeReader::Impl : public std::enable_shared_from_this<PipeReader::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer)
      : fd_(io), timer_(io), scratch_(scratch), consumer_(std::move(consumer)) {
    fd_.assign(fd.release());  // the first wait makes the descriptor non-blocking
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
    if (fd_.is_open())
      sys::Fd(fd_.release());  // release() tells epoll; a close does not while a forked child has a copy
    timer_.cancel();
    consumer_ = {};
  }

 private:
  void read() {
    for (size_t left = kTurn; left >= PipeReader::kLeastRead;) {
      const size_t allowed = std::min({consumer_.allowance(), scratch_.size(), left});
      if (allowed <= begun_.size()) return;
      std::ranges::copy(begun_, scratch_.begin());
      const auto free = scratch_.subspan(begun_.size(), allowed - begun_.size());
      const ssize_t got = TEMP_FAILURE_RETRY(::read(fd_.native_handle(), free.data(), free.size()));
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) return finish();  // end of file; a terminal returns EIO
      left -= static_cast<size_t>(got);
      const bool full = static_cast<size_t>(got) == free.size();
      deliver(got, full && unread() > 0);
      if (!fd_.is_open()) return;
      if (got < kDefaultPipeSize && !full) break;  // the pipe is empty
    }
    resume();
  }

  /// Delivers the kept part and the new bytes, except the start of a last line with readable further bytes.
  void deliver(ssize_t got, bool more) {
    if (got >= kDefaultPipeSize && !std::exchange(enlarged_, true)) {
      ::fcntl(fd_.native_handle(), F_SETPIPE_SZ, kBusyPipeSize);  // above the user's quota the pipe keeps its size
    }
    if (ended_) arm_drain_timer();
    owed_ -= std::min(owed_, static_cast<size_t>(got));
    const std::string_view all(scratch_.data(), begun_.size() + static_cast<size_t>(got));
    const size_t whole = more ? whole_lines(all) : all.size();
    begun_ = all.substr(whole);
    const auto data = consumer_.data;  // the consumer may close this reader
    data(all.substr(0, whole));
    if (ended_ && owed_ == 0 && Clock::now() >= drain_until_ && fd_.is_open()) finish();
  }

  /// The offset of the last line. The end, if there is only one line, or if the line may come from several writes.
  static size_t whole_lines(std::string_view all) {
    const size_t begin = all.rfind('\n') + 1;  // 0: no newline
    return begin > 0 && all.size() - begin < PipeReader::kLeastRead ? begin : all.size();
  }

  void arm_drain_timer() {
    timer_.expires_after(kDrainIdle);
    timer_.async_wait([self = shared_from_this()](asio::error_code error) {
      if (!error && self->fd_.is_open()) self->give_up_if_empty();
    });
  }

  void give_up_if_empty() {
    if (consumer_.allowance() == 0) return arm_drain_timer();  // the reader is slow, not the pipe
    if (unread() > 0) return arm_drain_timer();
    finish();
  }

  int unread() {
    int bytes = 0;
    ::ioctl(fd_.native_handle(), FIONREAD, &bytes);
    return bytes;
  }

  void finish() {
    const auto [allowance, data, closed] = std::move(consumer_);
    const std::string rest = std::exchange(begun_, {});
    close();
    if (!rest.empty() && data) data(rest);
    if (closed) closed();
  }

  asio::posix::stream_descriptor fd_;
  asio::steady_timer timer_;
  std::span<char> scratch_;
  Consumer consumer_;
  bool waiting_ = false;
  bool ended_ = false;
  Clock::time_point drain_until_;
  size_t owed_ = 0;  // number of bytes in the pipe at the end of the rank: later bytes are not from the rank
  bool enlarged_ = false;
  std::string begun_;  // start of a line with readable further bytes; less than kLeastRead
};

PipeReader::PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer)
    : impl_(std::make_shared<Impl>(io, std::move(fd), scratch, std::move(consumer))) {
  impl_->resume();
}
PipeReader::~PipeReader() { impl_->close(); }
void PipeReader::resume() { impl_->resume(); }
void PipeReader::rank_ended() { impl_->rank_ended(); }

}  // namespace dlaunch::link
