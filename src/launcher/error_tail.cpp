#include "launcher/error_tail.h"

#include <unistd.h>

#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <utility>

#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

constexpr size_t kReadSize = 4096;

}  // namespace

class ErrorTail::Impl : public std::enable_shared_from_this<ErrorTail::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> on_line)
      : fd_(io), on_line_(std::move(on_line)) {
    sys::set_nonblocking(fd.get());
    fd_.assign(fd.release());
  }

  void wait() {
    fd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->fd_.is_open() && self->read()) self->wait();
    });
  }

  /// Returns false at the end of the file.
  bool read() {
    std::array<char, kReadSize> buffer;
    for (;;) {
      const ssize_t got = ::read(fd_.native_handle(), buffer.data(), buffer.size());
      if (got == 0) return false;
      if (got < 0) return true;
      lines_.take({buffer.data(), static_cast<size_t>(got)}, sys::wall_ns(), on_line_);
    }
  }

  transport::ReasonLine last_line() {
    if (fd_.is_open()) read();
    return lines_.last();
  }

  void forget() {
    if (fd_.is_open()) read();
    lines_.forget();
  }

  void close() {
    asio::error_code ignored;
    fd_.close(ignored);
    on_line_ = {};
  }

 private:
  asio::posix::stream_descriptor fd_;
  std::function<void(const std::string&)> on_line_;
  transport::ReasonLines lines_;
};

ErrorTail::ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> on_line)
    : impl_(std::make_shared<Impl>(io, std::move(fd), std::move(on_line))) {
  impl_->wait();
}
ErrorTail::~ErrorTail() { impl_->close(); }
transport::ReasonLine ErrorTail::last_line() { return impl_->last_line(); }
void ErrorTail::forget() { impl_->forget(); }

}  // namespace dlaunch::launcher
