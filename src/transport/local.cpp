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

#include "sys/descendants.h"
#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::transport {
namespace {

constexpr int kExitWaitMs = 5000;      // an agent that has said Clean is gone in less than a millisecond
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, which Linux 6.3 wants said

/// The agent as a file that only this process can reach.
Result<sys::Fd> agent_file() {
  sys::Fd file(::memfd_create("dlaunch-agent", MFD_CLOEXEC | kMemfdExec));
  if (!file && errno == EINVAL) file.reset(::memfd_create("dlaunch-agent", MFD_CLOEXEC));
  if (!file || !sys::write_all(file.get(), agent_image().bytes)) {
    return fail({"", "cannot unpack the agent into memory", std::strerror(errno), "free memory or raise its limit",
                 kExitHostLost});
  }
  return file;
}

int start_agent(const sys::Fd& file, const sys::Fd& stream, std::string mark, const rlimit& open_files, pid_t& pid) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  char name[] = "dlaunch-agent";
  char* const argv[] = {name, nullptr};
  char* const envp[] = {mark.data(), nullptr};  // ranks get theirs from the plan
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 1);
  rlimit ours{};
  const bool lowered = ::getrlimit(RLIMIT_NOFILE, &ours) == 0 && ::setrlimit(RLIMIT_NOFILE, &open_files) == 0;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, envp);
  if (lowered) ::setrlimit(RLIMIT_NOFILE, &ours);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

bool is_gone(int pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; }

void wait_gone(int pid, const sys::Fd& handle) {
  if (handle) {
    pollfd ended{handle.get(), POLLIN, 0};
    ::poll(&ended, 1, kExitWaitMs);
  }
  for (int waited = 0; !is_gone(pid) && !handle && waited < kExitWaitMs; ++waited) ::poll(nullptr, 0, 1);
}

}  // namespace

Local::Local(const std::string& job_id, std::chrono::milliseconds grace, const rlimit& open_files)
    : mark_("DLAUNCH_AGENT_OF=" + job_id),
      marks_({mark_, "DLAUNCH_JOB_ID=" + job_id}),
      grace_(grace),
      open_files_(open_files) {}

Result<Opened> Local::open(const plan::Host& host) {
  auto file = agent_file();
  if (!file) return fail(file.error());
  sys::become_subreaper();
  auto [ours, theirs] = sys::make_socketpair();
  pid_t pid = 0;
  const int error = start_agent(*file, theirs, mark_, open_files_, pid);
  if (error != 0) {
    return fail({host.name, "cannot start the agent", std::strerror(error), "", kExitHostLost});
  }
  agents_.push_back({pid, sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))});
  return Opened{std::move(ours), true};
}

void Local::close() {
  for (const Agent& agent : agents_) wait_gone(agent.pid, agent.handle);
  if (!agents_.empty() && !sys::reap_all()) sys::end_descendants_with(marks_, grace_);
  agents_.clear();
}

}  // namespace dlaunch::transport
