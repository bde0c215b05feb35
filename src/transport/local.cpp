#include "transport/local.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/try.h"
#include "sys/descendants.h"
#include "sys/installed.h"
#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::transport {
namespace {

constexpr int kExitWaitMs = 5000;  // an agent that has said Clean is gone in less than a millisecond
constexpr char kAgent[] = "dlaunch-agent";
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, which Linux 6.3 wants said

/// Nobody may have written `file` who could not write this program.
bool is_ours(const struct stat& file) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  struct stat own{};
  return ::stat("/proc/self/exe", &own) == 0 && S_ISREG(file.st_mode) && file.st_uid == own.st_uid &&
         file.st_gid == own.st_gid && (file.st_mode & kOthersWrite & ~own.st_mode) == 0;
}

/// The installed agent, if it is the one inside this program: a copy into memory takes a quarter of a start. Its first
/// page holds its build id, a hash of all of it.
sys::Fd installed_agent() {
  sys::Fd file(::open(sys::installed_program(kAgent).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const std::string_view image = agent_image().bytes;
  std::array<char, 4096> head{};
  struct stat facts{};
  const bool same = file && ::fstat(file.get(), &facts) == 0 && static_cast<size_t>(facts.st_size) == image.size() &&
                    ::pread(file.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
                    image.starts_with({head.data(), head.size()});
  return same && is_ours(facts) ? std::move(file) : sys::Fd();
}

/// The agent as a file that only this process can reach.
Result<sys::Fd> agent_in_memory() {
  sys::Fd file(::memfd_create(kAgent, MFD_CLOEXEC | kMemfdExec));
  if (!file && errno == EINVAL) file.reset(::memfd_create(kAgent, MFD_CLOEXEC));
  if (!file || !sys::write_all(file.get(), agent_image().bytes)) {
    return fail({"", "cannot unpack the agent into memory", std::strerror(errno), "free memory or raise its limit",
                 kExitHostLost});
  }
  return file;
}

int start_agent(const sys::Fd& file, const sys::Fd& stream, std::string mark, const rlimit& open_files, pid_t& pid) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  std::string name = kAgent;
  char* const argv[] = {name.data(), nullptr};
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

Result<Connection> Local::open(const plan::Host& host) {
  sys::become_subreaper();
  auto [ours, theirs] = sys::make_socketpair();
  pid_t pid = 0;
  int error = ENOENT;
  if (const sys::Fd file = installed_agent()) error = start_agent(file, theirs, mark_, open_files_, pid);
  if (error != 0) {
    const auto file = TRY(agent_in_memory());
    error = start_agent(file, theirs, mark_, open_files_, pid);
  }
  if (error != 0) {
    return fail({host.name, "cannot start the agent", std::strerror(error), "", kExitHostLost});
  }
  agents_.push_back({pid, sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))});
  return Connection{std::move(ours), true};
}

void Local::close() {
  for (const Agent& agent : agents_) wait_gone(agent.pid, agent.handle);
  if (!agents_.empty() && !sys::reap_all()) sys::end_descendants_with(marks_, grace_);
  agents_.clear();
}

}  // namespace dlaunch::transport
