#include "agent/stdin_feeder.h"

#include <unistd.h>

#include <algorithm>
#include <asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr char kEndOfFile = 4;  // ^D, the terminal's default VEOF

}  // namespace

class StdinFeeder::Impl : public std::enable_shared_from_this<StdinFeeder::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, bool terminal, Handlers handlers)
      : fd_(io), terminal_(terminal), handlers_(std::move(handlers)) {
    sys::set_nonblocking(fd.get());
    fd_.assign(fd.release());
  }

  void push(const std::string& bytes, bool eof) {
    if (!fd_.is_open()) return;
    queue_ += bytes;
    if (!bytes.empty()) within_line_ = bytes.back() != '\n';
    eof_ = eof_ || eof;
    if (eof && terminal_) {
      own_ += within_line_ ? 2 : 1;  // within a line the first ^D only delivers the line
      queue_.append(within_line_ ? 2 : 1, kEndOfFile);
    }
    write();
  }

  size_t waiting() const { return queue_.size() - std::min(own_, queue_.size()); }

  void close() {
    if (fd_.is_open())
      sys::Fd(fd_.release());  // release() removes the descriptor from epoll, even if a fork has a copy
    handlers_ = {};
  }

 private:
  void write() {
    while (!queue_.empty()) {
      const ssize_t took = ::write(fd_.native_handle(), queue_.data(), queue_.size());
      if (took < 0 && errno == EINTR) continue;
      if (took < 0 && errno == EAGAIN) return wait();
      if (took < 0) return gone();
      const size_t before = waiting();
      queue_.erase(0, static_cast<size_t>(took));
      if (before > waiting()) handlers_.took(static_cast<std::uint32_t>(before - waiting()));
    }
    if (eof_ && !terminal_) close();
  }

  void wait() {
    if (std::exchange(waiting_, true)) return;
    fd_.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](asio::error_code error) {
      self->waiting_ = false;
      if (!error && self->fd_.is_open()) self->write();
    });
  }

  void gone() {
    const auto closed = std::move(handlers_.closed);
    close();
    if (closed) closed();
  }

  asio::posix::stream_descriptor fd_;
  const bool terminal_;
  Handlers handlers_;
  std::string queue_;
  size_t own_ = 0;  // bytes at the end of the queue that this class added
  bool eof_ = false;
  bool within_line_ = false;
  bool waiting_ = false;
};

StdinFeeder::StdinFeeder(asio::io_context& io, sys::Fd fd, bool terminal, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, std::move(fd), terminal, std::move(handlers))) {}
StdinFeeder::~StdinFeeder() { impl_->close(); }
void StdinFeeder::push(const std::string& bytes, bool eof) { impl_->push(bytes, eof); }
size_t StdinFeeder::waiting() const { return impl_->waiting(); }

}  // namespace dlaunch::agent
