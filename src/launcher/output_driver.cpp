#include "launcher/output_driver.h"

#include <fcntl.h>

#include <utility>

#include "sys/io.h"

namespace dlaunch::launcher {

void OutputDriver::feed(int rank, output::Stream stream, std::string_view bytes, std::int64_t wall_ns) {
  output_.feed(rank, stream, bytes, job::Clock::now(), wall_ns);
  after_change();
}

void OutputDriver::end(int rank, output::Stream stream) {
  output_.end(rank, stream, job::Clock::now());
  after_change();
}

void OutputDriver::after_change() {
  if (changing_) return;  // `moved` feeds again: one round at a time
  changing_ = true;
  if (handlers_.moved) handlers_.moved();
  changing_ = false;
  for (const int fd : output_.waiting()) wait_writable(fd);
  arm_timer();
  if (handlers_.failed) handlers_.failed();
}

void OutputDriver::wait_writable(int fd) {
  auto [entry, fresh] = consoles_.try_emplace(fd, io_);
  Console& console = entry->second;
  if (fresh) {
    const int copy = ::fcntl(output_.poll_fd(fd), F_DUPFD_CLOEXEC, 0);  // the loop closes what it is given
    if (copy < 0) sys::throw_errno("fcntl(F_DUPFD_CLOEXEC)");
    console.descriptor.assign(copy);
  }
  if (std::exchange(console.waiting, true)) return;
  console.descriptor.async_wait(asio::posix::stream_descriptor::wait_write, [this, fd, &console](asio::error_code error) {
    if (error) return;
    console.waiting = false;
    output_.flush(fd, job::Clock::now());
    after_change();
  });
}

void OutputDriver::arm_timer() {
  const auto deadline = output_.deadline();
  if (deadline == armed_for_) return;
  armed_for_ = deadline;
  if (!deadline) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(*deadline);
  timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    armed_for_.reset();
    output_.tick(job::Clock::now());
    after_change();
  });
}

}  // namespace dlaunch::launcher
