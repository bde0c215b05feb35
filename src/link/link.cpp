#include "link/link.h"

#include <poll.h>

#include <asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/io.h"

namespace dlaunch::link {
namespace {

constexpr size_t kReadSize = 256u << 10;
constexpr size_t kCompactAbove = 1u << 20;
constexpr char kClosed[] = "closed by the other side";

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

class Link::Impl : public std::enable_shared_from_this<Link::Impl> {
 public:
  /// `out` is empty if `in` is a socket for both directions.
  Impl(asio::io_context& io, sys::Fd in, sys::Fd out, wire::Sender from)
      : io_(io), in_(io), buffer_(std::make_unique_for_overwrite<char[]>(kReadSize)), decoder_(from) {
    sys::set_nonblocking(in.get());
    in_.assign(in.release());
    if (!out) return;
    sys::set_nonblocking(out.get());
    own_out_.emplace(io, out.release());
  }

  void start(Handlers handlers, const std::string& first) {
    handlers_ = std::move(handlers);
    decoder_.feed(first);
    asio::post(io_, [self = shared_from_this()] {
      if (self->in_.is_open() && self->deliver()) self->wait_readable();
    });
  }

  void send(const wire::Message& message, std::vector<sys::Fd> fds) {
    if (!can_send()) return;
    const size_t start = queue_.size();
    wire::encode(message, queue_);
    if (!fds.empty()) passed_.push_back({start, std::move(fds)});
    above_low_ = above_low_ || waiting() > kLowWater;
    if (waiting() > kHighWater) return flush();
    if (std::exchange(flush_posted_, true)) return;
    asio::post(io_, [self = shared_from_this()] {
      self->flush_posted_ = false;
      self->flush();
    });
  }

  size_t waiting() const { return queue_.size() - sent_; }

  /// The ready events of the input descriptor; 0 after the end.
  short ready_for(short events) {
    if (!in_.is_open()) return 0;
    pollfd polled{in_.native_handle(), events, 0};
    return ::poll(&polled, 1, 0) > 0 ? polled.revents : short{0};
  }

  void flush() {
    while (can_send() && waiting() > 0) {
      const ssize_t took = send_piece();
      if (took < 0 && would_block(errno)) {
        wait_writable();
        break;
      }
      if (took < 0) return write_failed(std::strerror(errno));
      sent_ += static_cast<size_t>(took);
    }
    compact();
    if (waiting() == 0 && all_sent_) return std::exchange(all_sent_, {})();
    if (above_low_ && waiting() < kLowWater) {
      above_low_ = false;
      if (handlers_.drained) handlers_.drained();
    }
  }

  std::optional<int> blocked_on() {
    return waiting() > 0 && can_send() ? std::optional<int>(out().native_handle()) : std::nullopt;
  }

  void when_sent(std::function<void()> then) {
    all_sent_ = std::move(then);
    flush();
  }

  void close() {
    handlers_ = {};
    all_sent_ = {};
    asio::error_code ignored;
    in_.close(ignored);
    close_out();
  }

  /// Releases the memory of the queue if it is empty.
  void release() {
    if (waiting() == 0) queue_.shrink_to_fit();
  }

 private:
  struct Passed {
    size_t at;  // offset in queue_ of the frame of these descriptors
    std::vector<sys::Fd> fds;
  };

  asio::posix::stream_descriptor& out() { return own_out_ ? *own_out_ : in_; }
  bool can_send() { return !out_ended_ && out().is_open(); }
  void close_out() {
    out_ended_ = true;
    asio::error_code ignored;
    if (own_out_) own_out_->close(ignored);
  }

  /// Sends queued bytes up to the next frame with descriptors. If such a frame is first in the queue, sends its
  /// descriptors with its first byte, and only the bytes before the second such frame.
  ssize_t send_piece() {
    std::string_view piece = std::string_view(queue_).substr(sent_);
    if (passed_.empty()) return sys::send_some(out().native_handle(), piece, {});
    Passed& next = passed_.front();
    if (next.at > sent_) return sys::send_some(out().native_handle(), piece.substr(0, next.at - sent_), {});
    if (passed_.size() > 1) piece = piece.substr(0, passed_[1].at - sent_);
    const ssize_t took = sys::send_some(out().native_handle(), piece, next.fds);
    if (took > 0) passed_.pop_front();  // the descriptors were sent with the first byte
    return took;
  }

  void compact() {
    if (waiting() > 0 && (sent_ < kCompactAbove || sent_ < waiting())) return;
    queue_.erase(0, sent_);
    for (Passed& passed : passed_) passed.at -= sent_;
    sent_ = 0;
  }

  /// The bytes that the peer sent before its end are still readable. Never calls `ended`: senders do not expect a
  /// callback.
  void write_failed(const std::string& why) {
    close_out();
    queue_.clear();
    sent_ = 0;
    passed_.clear();
    read_rest(why);
  }

  void read_rest(const std::string& why) {
    asio::post(io_, [self = shared_from_this(), why] {
      if (!self->in_.is_open()) return;
      const ssize_t got = self->receive();
      if (got <= 0) return self->end(got == 0 ? kClosed : why);
      if (self->deliver()) self->read_rest(why);
    });
  }

  void wait_writable() {
    if (std::exchange(waiting_writable_, true)) return;
    out().async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](asio::error_code error) {
      self->waiting_writable_ = false;
      if (!error) self->flush();
    });
  }

  void wait_readable() {
    in_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->in_.is_open()) self->read();
    });
  }

  void read() {
    const ssize_t got = receive();
    if (got == 0) return end(kClosed);
    if (got < 0 && !would_block(errno)) return end(std::strerror(errno));
    if (deliver()) wait_readable();
  }

  /// Reads the available bytes into the decoder.
  ssize_t receive() {
    std::vector<sys::Fd> fds;
    const ssize_t got = sys::receive_some(in_.native_handle(), {buffer_.get(), kReadSize}, fds);
    for (sys::Fd& fd : fds) fds_.push_back(std::move(fd));
    if (got > 0) decoder_.feed({buffer_.get(), static_cast<size_t>(got)});
    return got;
  }

  /// Delivers the decoded messages. Returns false at the end of the stream.
  bool deliver() {
    for (;;) {
      auto next = decoder_.next();
      if (!next) {
        end(next.error().what + ": " + next.error().why);
        return false;
      }
      if (!*next) break;
      if (!handlers_.message) return false;
      const auto handle = handlers_.message;  // the handler may close this link, which clears the handlers
      handle(std::move(**next), fds_);
      if (!in_.is_open()) return false;
    }
    if (fds_.size() <= kMostFds) return in_.is_open();
    end("received file descriptors that no frame announced");
    return false;
  }

  void end(const std::string& why) {
    const auto ended = handlers_.ended;
    close();
    if (ended) ended(why);
  }

  asio::io_context& io_;
  asio::posix::stream_descriptor in_;
  std::optional<asio::posix::stream_descriptor> own_out_;
  bool out_ended_ = false;
  Handlers handlers_;
  std::unique_ptr<char[]> buffer_;  // kReadSize; without a burst, most of its pages are never used
  wire::Decoder decoder_;
  std::deque<sys::Fd> fds_;
  std::string queue_;
  size_t sent_ = 0;
  std::deque<Passed> passed_;
  std::function<void()> all_sent_;
  bool above_low_ = false;
  bool flush_posted_ = false;
  bool waiting_writable_ = false;
};

Link::Link(asio::io_context& io, sys::Fd in, sys::Fd out, wire::Sender from)
    : impl_(std::make_shared<Impl>(io, std::move(in), std::move(out), from)) {}
Link::Link(asio::io_context& io, sys::Fd socket, wire::Sender from)
    : impl_(std::make_shared<Impl>(io, std::move(socket), sys::Fd(), from)) {}
Link::~Link() { impl_->close(); }
void Link::start(Handlers handlers, const std::string& first) { impl_->start(std::move(handlers), first); }
void Link::send(const wire::Message& message, std::vector<sys::Fd> fds) { impl_->send(message, std::move(fds)); }
size_t Link::waiting() const { return impl_->waiting(); }
bool Link::readable() const { return impl_->ready_for(POLLIN | POLLRDHUP) != 0; }
bool Link::peer_ended() const { return (impl_->ready_for(POLLRDHUP) & (POLLRDHUP | POLLHUP | POLLERR)) != 0; }
std::optional<int> Link::blocked_on() const { return impl_->blocked_on(); }
void Link::flush() {
  impl_->flush();
  impl_->release();
}
void Link::when_sent(std::function<void()> then) { impl_->when_sent(std::move(then)); }
void Link::close() { impl_->close(); }

}  // namespace dlaunch::link
