#include "launcher/output_driver.h"

#include <utility>

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
  deadline_.set(output_.deadline());
  if (handlers_.failed) handlers_.failed();
}

void OutputDriver::wait_writable(int fd) {
  auto found = consoles_.find(fd);
  if (found == consoles_.end()) {
    const int watched = output_.poll_fd(fd);
    found = consoles_.emplace(fd, Console{Readiness(io_, watched, Readiness::For::writing)}).first;
  }
  Console& console = found->second;
  if (std::exchange(console.waiting, true)) return;
  console.readiness.wait([this, fd, &console] {
    console.waiting = false;
    output_.flush(fd, job::Clock::now());
    after_change();
  });
}

}  // namespace dlaunch::launcher
