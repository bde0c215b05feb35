#include "transport/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "sys/io.h"

extern char** environ;

namespace dlaunch::transport {
namespace {

constexpr int kExitWaitMs = 5000;  // a command whose stream we closed ends by itself

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

void Exec::close() {
  for (const auto& child : children_) {
    pollfd ended{child->handle.get(), POLLIN, 0};
    if (child->handle && ::poll(&ended, 1, kExitWaitMs) == 0) ::kill(-child->pid, SIGKILL);
    ::waitpid(child->pid, nullptr, child->handle ? 0 : WNOHANG);
  }
  children_.clear();
}

}  // namespace dlaunch::transport
