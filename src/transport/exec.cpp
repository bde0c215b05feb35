#include "transport/exec.h"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "sys/io.h"

namespace dlaunch::transport {
namespace {

// A command whose stream we closed ends by itself, unless it is still connecting. For all commands together.
constexpr std::chrono::milliseconds kEndsByItself{1000};
constexpr std::chrono::milliseconds kEndsWhenTold{300};

}  // namespace

Exec::Exec(CommandFor command) : command_(std::move(command)) {}
Exec::~Exec() { close(); }

Result<Opened> Exec::open(const plan::Host& host) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command child;
  const int error = errors.read ? child.start(command_(host) + " sh", theirs, errors.write) : errno;
  if (error != 0) {
    return fail({host.name, "cannot run the transport's command", std::strerror(error), "", kExitHostLost});
  }
  children_.push_back(std::move(child));
  return Opened{std::move(ours), false, true, host.reach.agent, std::move(errors.read)};
}

bool Exec::wait_for_all(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::erase_if(children_, [](const Command& child) { return child.has_ended(); });
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (children_.empty() || left.count() <= 0) return children_.empty();
    pollfd first{children_.front().handle().get(), POLLIN, 0};
    ::poll(&first, 1, static_cast<int>(left.count()));
  }
}

void Exec::signal_all(int signal) {
  for (const Command& child : children_) child.signal(signal);
}

void Exec::close() {
  if (wait_for_all(kEndsByItself)) return;
  signal_all(SIGTERM);
  if (wait_for_all(kEndsWhenTold)) return;
  signal_all(SIGKILL);
  for (const Command& child : children_) child.reap();
  children_.clear();
}

}  // namespace dlaunch::transport
