#include "transport/exec.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "sys/io.h"

namespace dlaunch::transport {
namespace {

// Limits for all commands together. One whose stream is closed ends by itself, unless it is still connecting.
constexpr std::chrono::milliseconds kEndsByItself{1000};
constexpr std::chrono::milliseconds kEndsWhenTold{300};
constexpr std::chrono::milliseconds kEndsWhenKilled{1000};  // longer is uninterruptible sleep

}  // namespace

Exec::Exec(CommandFor command, std::function<void(const std::string&)> note)
    : command_(std::move(command)), note_(std::move(note)) {}
Exec::~Exec() { close(); }

Result<Connection> Exec::open(const plan::Host& host) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command child;
  const int error = errors.read ? child.start(command_(host) + " sh", theirs, errors.write) : errno;
  if (error != 0) {
    return fail({host.name, "cannot run the transport's command", std::strerror(error), "", kExitHostLost});
  }
  children_.push_back({std::move(child), host.name});
  return Connection{std::move(ours), false, true, host.reach.agent, std::move(errors.read)};
}

bool Exec::wait_for_all(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::erase_if(children_, [&](const Child& child) { return child.command.ends_by(deadline); });
  return children_.empty();
}

void Exec::signal_all(int signal) {
  for (const Child& child : children_) child.command.signal(signal);
}

void Exec::close() {
  if (wait_for_all(kEndsByItself)) return;
  signal_all(SIGTERM);
  if (wait_for_all(kEndsWhenTold)) return;
  signal_all(SIGKILL);
  wait_for_all(kEndsWhenKilled);
  for (const Child& child : children_) {
    if (note_) {
      note_(child.host + ": the command that led to it, pid " + std::to_string(child.command.pid()) +
            ", did not end after SIGKILL: what it waits for does not answer");
    }
  }
  children_.clear();
}

}  // namespace dlaunch::transport
