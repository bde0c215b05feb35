#include "transport/local.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sys/io.h"
#include "transport/agent_image.h"

namespace dlaunch::transport {
namespace {

constexpr int kExitWaitMs = 5000;  // an agent that has said Clean is gone in less than a millisecond
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, which Linux 6.3 wants said

/// The agent as a file that only this process can reach.
Result<sys::Fd> agent_file() {
  sys::Fd file(::memfd_create("dlaunch-agent", MFD_CLOEXEC | kMemfdExec));
  if (!file && errno == EINVAL) file.reset(::memfd_create("dlaunch-agent", MFD_CLOEXEC));
  std::string_view rest = agent_image();
  while (file && !rest.empty()) {
    const ssize_t wrote = ::write(file.get(), rest.data(), rest.size());
    if (wrote < 0) break;
    rest.remove_prefix(static_cast<size_t>(wrote));
  }
  if (!file || !rest.empty()) {
    return fail({"", "cannot unpack the agent into memory", std::strerror(errno), "free memory or raise its limit",
                 kExitHostLost});
  }
  return file;
}

int start_agent(const sys::Fd& file, const sys::Fd& stream, pid_t& pid) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  char name[] = "dlaunch-agent";
  char* const argv[] = {name, nullptr};
  char* const envp[] = {nullptr};  // ranks get theirs from the plan
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 1);
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, envp);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<Opened> Local::open(const plan::Host& host) {
  auto file = agent_file();
  if (!file) return fail(file.error());
  auto [ours, theirs] = sys::make_socketpair();
  pid_t pid = 0;
  if (const int error = start_agent(*file, theirs, pid); error != 0) {
    return fail({host.name, "cannot start the agent", std::strerror(error), "", kExitHostLost});
  }
  agents_.push_back(pid);
  return Opened{std::move(ours), true};
}

void Local::close() {
  for (const int pid : agents_) {
    const sys::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{handle.get(), POLLIN, 0};
    ::poll(&ended, 1, kExitWaitMs);
    ::waitpid(pid, nullptr, WNOHANG);
  }
  agents_.clear();
}

}  // namespace dlaunch::transport
