#include "launcher/error_tail.h"

#include <unistd.h>

#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <utility>

#include "base/text.h"
#include "launcher/command_words.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

constexpr size_t kMaxLine = 4096;  // a longer line is cut

}  // namespace

class ErrorTail::Impl : public std::enable_shared_from_this<ErrorTail::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> told)
      : fd_(io), told_(std::move(told)) {
    sys::set_nonblocking(fd.get());
    fd_.assign(fd.release());
  }

  void wait() {
    fd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->fd_.is_open() && self->read()) self->wait();
    });
  }

  /// False at the end of file.
  bool read() {
    std::array<char, kMaxLine> buffer;
    for (;;) {
      const ssize_t got = ::read(fd_.native_handle(), buffer.data(), buffer.size());
      if (got == 0) return false;
      if (got < 0) return true;
      take({buffer.data(), static_cast<size_t>(got)});
    }
  }

  std::string last_line() {
    if (fd_.is_open()) read();
    return partial_.empty() || is_ended_step(last_) ? last_ : partial_;
  }

  void close() {
    asio::error_code ignored;
    fd_.close(ignored);
    told_ = {};
  }

 private:
  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c != '\n') {
        if (partial_.size() < kMaxLine) partial_ += c;
        continue;
      }
      const std::string line(trim(std::exchange(partial_, {})));
      if (line.empty()) continue;
      if (!is_ended_step(last_)) last_ = line;  // what follows is its consequence
      if (told_) told_(line);
    }
  }

  asio::posix::stream_descriptor fd_;
  std::function<void(const std::string&)> told_;
  std::string partial_;
  std::string last_;
};

ErrorTail::ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> told)
    : impl_(std::make_shared<Impl>(io, std::move(fd), std::move(told))) {
  impl_->wait();
}
ErrorTail::~ErrorTail() { impl_->close(); }
std::string ErrorTail::last_line() { return impl_->last_line(); }

}  // namespace dlaunch::launcher
