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

constexpr size_t kTerminalHides = 128u << 10;  // what a terminal may hold without counting it; more than its buffers
constexpr size_t kTurn = 256u << 10;  // then other readers take their turn: no busy pipe may keep the loop long
constexpr ssize_t kDefaultPipeSize = 64 << 10;  // a read of this much met a full pipe, so its writer is busy
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
      if (allowed <= begun_.size()) return;
      std::ranges::copy(begun_, scratch_.begin());
      const auto free = scratch_.subspan(begun_.size(), allowed - begun_.size());
      const ssize_t got = TEMP_FAILURE_RETRY(::read(fd_.native_handle(), free.data(), free.size()));
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) return finish();  // end of file; a terminal gives EIO
      left -= static_cast<size_t>(got);
      const bool full = static_cast<size_t>(got) == free.size();
      deliver(got, full && unread() > 0);
      if (!fd_.is_open()) return;
      if (got < kDefaultPipeSize && !full) break;  // the pipe is empty now
    }
    resume();
  }

  /// Hands on the kept part and what was read, except the beginning of a last line whose rest can be read at once.
  void deliver(ssize_t got, bool more) {
    if (got >= kDefaultPipeSize && !std::exchange(enlarged_, true)) {
      ::fcntl(fd_.native_handle(), F_SETPIPE_SZ, kBusyPipeSize);  // beyond the user's quota the size stays
    }
    if (ended_) arm_drain_timer();
    owed_ -= std::min(owed_, static_cast<size_t>(got));
    const std::string_view all(scratch_.data(), begun_.size() + static_cast<size_t>(got));
    const size_t whole = more ? whole_lines(all) : all.size();
    begun_ = all.substr(whole);
    const auto data = consumer_.data;  // it may close us, which clears the consumer
    data(all.substr(0, whole));
    if (ended_ && owed_ == 0 && Clock::now() >= drain_until_ && fd_.is_open()) finish();
  }

  /// The offset of the last line; the end where there is but one, or where it may not have been written at once.
  static size_t whole_lines(std::string_view all) {
    const size_t begin = all.rfind('\n') + 1;  // 0 without
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
  size_t owed_ = 0;  // bytes in the pipe when the rank ended: no later one can be its own
  bool enlarged_ = false;
  std::string begun_;  // part of a line whose rest can be read; less than kLeastRead
};

PipeReader::PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer)
    : impl_(std::make_shared<Impl>(io, std::move(fd), scratch, std::move(consumer))) {
  impl_->resume();
}
PipeReader::~PipeReader() { impl_->close(); }
void PipeReader::resume() { impl_->resume(); }
void PipeReader::rank_ended() { impl_->rank_ended(); }

}  // namespace dlaunch::link
