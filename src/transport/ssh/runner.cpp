#include "transport/ssh/runner.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "net/connect.h"
#include "sys/io.h"
#include "transport/command.h"
#include "transport/ssh/proxy.h"
#include "transport/ssh/session.h"

namespace dlaunch::transport::ssh {

namespace {

constexpr const char* kNoAddress = "127.0.0.1";  // libssh requires an address but does not connect to this one
constexpr std::chrono::milliseconds kEndsByItself{100};
constexpr std::chrono::milliseconds kEndsAfterTerm{200};
constexpr std::chrono::milliseconds kEndsAfterKill{500};  // a longer wait means uninterruptible sleep

/// Ends a command after its socket is closed. Returns false if SIGKILL has no effect.
bool end_command(const Command& command) {
  const auto ends_within = [&](std::chrono::milliseconds limit) {
    return command.ends_by(std::chrono::steady_clock::now() + limit);
  };
  if (ends_within(kEndsByItself)) return true;
  command.signal(SIGTERM);
  if (ends_within(kEndsAfterTerm)) return true;
  command.signal(SIGKILL);
  return ends_within(kEndsAfterKill);
}

std::string read_rest(const sys::Fd& fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

Runner::Runner(Parts parts) : parts_(std::move(parts)) {
  sys::set_nonblocking(parts_.stream.get());
  sys::set_nonblocking(parts_.errors.get());
}

void Runner::run() {
  Disconnect end = reach();
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  parts_.errors.reset();
  {
    const std::lock_guard lock(mutex_);
    parts_.stream.reset();
    over_ = true;
  }
  idle_.set(true);
}

/// Checks unread bytes first: the pump clears its idle flag before reading.
bool Runner::is_passed_on() const {
  int unread = 0;
  return over_ || (::ioctl(parts_.stream.get(), FIONREAD, &unread) == 0 && unread == 0 && idle_.now());
}

bool Runner::passed_on_by(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait(lock, deadline, [this] { return is_passed_on(); });
}

bool Runner::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

Disconnect Runner::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

Disconnect Runner::reach() {
  auto route = parts_.find_route();
  if (!route) {
    const Error& error = route.error();
    return {error.where.empty() ? error.what : error.where + ": " + error.what, error.why, error.hint};
  }
  route_ = *std::move(route);
  return route_.proxy_command.empty() ? over_tcp() : over_command();
}

Disconnect Runner::over_tcp() {
  auto connected = net::connect_to(route_.target, route_.limit, parts_.watchdog->ended()->get());
  if (!connected) return connected.error();
  return over(std::move(connected->socket), connected->address, sys::Fd()).end;
}

SessionEnd Runner::over(sys::Fd socket, const std::string& address, const sys::Fd& noise) {
  Watchdog::Guard guard = parts_.watchdog->watch(socket.get());
  return run_session({*parts_.lib, route_, *parts_.watchdog, guard, parts_.stream, parts_.errors, noise, idle_},
                     std::move(socket), address);
}

Disconnect Runner::over_command() {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start(route_.proxy_command, theirs, errors.write) : errno;
  if (error != 0)
    return {"cannot run the proxy command", std::strerror(error), "check the command: " + route_.proxy_command};
  theirs.reset();
  errors.write.reset();
  sys::set_nonblocking(errors.read.get());
  SessionEnd session = over(std::move(ours), kNoAddress, errors.read);
  if (!end_command(command)) {
    (void)sys::write_all(parts_.errors.get(),
                         "the proxy command, pid " + std::to_string(command.pid()) + ", did not end after SIGKILL\n");
  }
  if (session.shook_hands) return session.end;
  return blame_command(std::move(session.end), read_rest(errors.read));
}

}  // namespace dlaunch::transport::ssh
