#include "launcher/bootstrap_stream.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "sys/io.h"
#include "sys/randomness.h"

namespace dlaunch::launcher {
namespace {

constexpr size_t kReadSize = 16u << 10;

std::string make_nonce() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  std::string nonce = sys::random_bytes(20);
  for (char& each : nonce) each = kLetters[static_cast<unsigned char>(each) % kLetters.size()];
  return nonce;
}

}  // namespace

class BootstrapStream::Impl : public std::enable_shared_from_this<BootstrapStream::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd stream, const std::string& agent_path, Handlers handlers)
      : Impl(io, std::move(stream), agent_path, std::move(handlers), make_nonce()) {}

  void start() {
    write();
    wait_readable();
  }

  void close() {
    asio::error_code ignored;
    stream_.close(ignored);
    handlers_ = {};
  }

 private:
  using Next = transport::Bootstrap::Next;
  using Stream = asio::posix::stream_descriptor;

  Impl(asio::io_context& io, sys::Fd stream, const std::string& agent_path, Handlers handlers, const std::string& nonce)
      : stream_(io),
        handlers_(std::move(handlers)),
        bootstrap_(nonce, transport::agent_machines()),
        script_(transport::bootstrap_script(transport::agent_images(), nonce, agent_path)),
        to_send_(script_) {
    sys::set_nonblocking(stream.get());
    stream_.assign(stream.release());
  }

  void write() {
    while (!to_send_.empty()) {
      const ssize_t took = sys::send_some(stream_.native_handle(), to_send_, {});
      if (took < 0 && errno == EAGAIN) return wait_writable();
      if (took < 0) return;  // the next read reports the reason
      to_send_.remove_prefix(static_cast<size_t>(took));
      if (handlers_.moved) handlers_.moved();
    }
  }

  void wait_writable() {
    stream_.async_wait(Stream::wait_write, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->stream_.is_open()) self->write();
    });
  }

  void wait_readable() {
    stream_.async_wait(Stream::wait_read, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->stream_.is_open()) self->read();
    });
  }

  void read() {
    std::array<char, kReadSize> buffer;
    const ssize_t got = TEMP_FAILURE_RETRY(::read(stream_.native_handle(), buffer.data(), buffer.size()));
    if (got < 0 && errno == EAGAIN) return wait_readable();
    if (got <= 0) return fail(handlers_.ended, "the connection closed before the agent started");
    switch (bootstrap_.feed({buffer.data(), static_cast<size_t>(got)})) {
      case Next::wait:
        return wait_readable();
      case Next::failed:
        return fail(handlers_.failed, bootstrap_.why());
      case Next::frames:
        return finish();
      case Next::upload:
        to_send_ =
            std::ranges::find(transport::agent_images(), bootstrap_.machine(), &transport::AgentImage::machine)->bytes;
        write();
        return wait_readable();
    }
  }

  void fail(std::function<void(const std::string&)>& handler, const std::string& why) {
    const auto tell = std::move(handler);
    close();
    tell(why);
  }

  void finish() {
    to_send_ = {};
    std::string().swap(script_);  // this object lives as long as the host's link
    const Handlers handlers = std::move(handlers_);
    if (const auto noise = trim(bootstrap_.noise()); !noise.empty()) handlers.noise(std::string(noise));
    handlers.done(sys::Fd(stream_.release()), bootstrap_.rest());
  }

  Stream stream_;
  Handlers handlers_;
  transport::Bootstrap bootstrap_;
  std::string script_;
  std::string_view to_send_;
};

BootstrapStream::BootstrapStream(asio::io_context& io, sys::Fd stream, const std::string& agent_path, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, std::move(stream), agent_path, std::move(handlers))) {
  impl_->start();
}
BootstrapStream::~BootstrapStream() { impl_->close(); }

}  // namespace dlaunch::launcher
