#include "launcher/write_waits.h"

#include <utility>

namespace dlaunch::launcher {

void WriteWaits::look() {
  for (output::FdWriter* writer : waiting_()) {
    auto found = waits_.find(writer);
    if (found == waits_.end()) {
      found = waits_.emplace(writer, Wait{Readiness(io_, writer->poll_fd(), Readiness::For::writing)}).first;
    }
    Wait& wait = found->second;
    if (std::exchange(wait.waiting, true)) continue;
    wait.readiness.wait([this, writer, &wait] {
      wait.waiting = false;
      writable_(*writer);
      look();
    });
  }
}

}  // namespace dlaunch::launcher
