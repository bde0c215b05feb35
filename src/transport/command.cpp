#include "transport/command.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sys/child.h"

extern char** environ;

namespace dlaunch::transport {

int Command::start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors, const std::string& before) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigaddset(&signals, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  // Without a PATH of ours the shell finds the command, and the command then finds nothing.
  std::string script = ": \"${PATH:=/usr/local/bin:/usr/bin:/bin}\"\nexport PATH\n" + before + "exec " + line;
  char name[] = "sh";
  char option[] = "-c";
  char* const argv[] = {name, option, script.data(), nullptr};
  const int error = ::posix_spawn(&pid_, "/bin/sh", &actions, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) handle_ = sys::open_pidfd(pid_);
  return error;
}

bool Command::has_ended() const { return ::waitpid(pid_, nullptr, WNOHANG) != 0; }
void Command::signal(int signal) const { ::kill(-pid_, signal); }

bool Command::ends_by(std::chrono::steady_clock::time_point deadline) const {
  return sys::reap_by(pid_, handle_, deadline);
}

}  // namespace dlaunch::transport
