#include "transport/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "sys/io.h"

extern char** environ;

namespace dlaunch::transport {
namespace {

// A command whose stream we closed ends by itself, unless it is still connecting. For all commands together.
constexpr std::chrono::milliseconds kEndsByItself{1000};
constexpr std::chrono::milliseconds kEndsWhenTold{300};

/// In a session of its own, so that Ctrl-C is for the launcher alone.
int start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  std::string script = "exec " + line + " sh";
  char name[] = "sh";
  char option[] = "-c";
  char* const argv[] = {name, option, script.data(), nullptr};
  const int error = ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

struct Exec::Child {
  pid_t pid = 0;
  sys::Fd handle;  // pidfd
};

Exec::Exec(CommandFor command) : command_(std::move(command)) {}
Exec::~Exec() { close(); }

Result<Opened> Exec::open(const plan::Host& host) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  auto child = std::make_unique<Child>();
  const int error = errors.read ? start(command_(host), theirs, errors.write, child->pid) : errno;
  if (error != 0) {
    return fail({host.name, "cannot run the transport's command", std::strerror(error), "", kExitHostLost});
  }
  child->handle.reset(static_cast<int>(::syscall(SYS_pidfd_open, child->pid, 0)));
  children_.push_back(std::move(child));
  return Opened{std::move(ours), false, true, host.reach.agent, std::move(errors.read)};
}

/// By itself, and reaped: by us or, if SIGCHLD came first, by the launcher.
bool Exec::has_ended(const Child& child) { return ::waitpid(child.pid, nullptr, WNOHANG) != 0; }

bool Exec::wait_for_all(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::erase_if(children_, [](const auto& child) { return has_ended(*child); });
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (children_.empty() || left.count() <= 0) return children_.empty();
    pollfd first{children_.front()->handle.get(), POLLIN, 0};
    ::poll(&first, 1, static_cast<int>(left.count()));
  }
}

void Exec::signal_all(int signal) {
  for (const auto& child : children_) ::kill(-child->pid, signal);
}

void Exec::close() {
  if (wait_for_all(kEndsByItself)) return;
  signal_all(SIGTERM);
  if (wait_for_all(kEndsWhenTold)) return;
  signal_all(SIGKILL);
  for (const auto& child : children_) ::waitpid(child->pid, nullptr, 0);
  children_.clear();
}

}  // namespace dlaunch::transport
