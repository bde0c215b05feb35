#include "transport/ssh/runner.h"

#include <utility>

#include "sys/io.h"
#include "transport/ssh/connect.h"
#include "transport/ssh/session.h"

namespace dlaunch::transport::ssh {

Runner::Runner(Parts parts) : parts_(std::move(parts)) {
  sys::set_nonblocking(parts_.stream.get());
  sys::set_nonblocking(parts_.errors.get());
}

void Runner::run() {
  WayEnd end = reach();
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  parts_.errors.reset();
  parts_.stream.reset();
}

WayEnd Runner::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

WayEnd Runner::reach() { return parts_.route.proxy_command.empty() ? over_tcp() : over_command(); }

WayEnd Runner::over_tcp() {
  const Route& route = parts_.route;
  auto connected = connect_to(route.target, route.limit, parts_.watchdog->ended()->get());
  if (!connected) return connected.error();
  Watchdog::Guard guard = parts_.watchdog->watch(connected->socket.get());
  return run_session({*parts_.lib, route, guard, parts_.stream, parts_.errors}, std::move(connected->socket),
                     connected->address);
}

WayEnd Runner::over_command() { return {"not there yet", "", ""}; }

}  // namespace dlaunch::transport::ssh
