// dlaunch-agent: two processes. The guardian waits; the worker, its child, is the agent. Each cleans up if the other is
// killed: a worker without a guardian ends its ranks; a guardian without a worker ends all processes of the job.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "agent/agent.h"
#include "agent/agent_tag.h"
#include "agent/dial_in.h"
#include "agent/guardian.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "agent/workdir_setup.h"
#include "sys/descendants.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace {

namespace agent = dlaunch::agent;
namespace sys = dlaunch::sys;

sys::Fd take_over(int fd) {
  sys::Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) sys::throw_errno("fcntl(F_DUPFD_CLOEXEC)");
  return copy;
}

/// From here on, 0 and 1 are /dev/null: no print may reach the link.
void replace_by_null(int fd) {
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null || ::dup2(null.get(), fd) < 0) sys::throw_errno("dup2");
}

void reset_signals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {  // the C library refuses its own two signals
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int work(pid_t guardian, agent::JobDirectory& files, agent::JobCgroup& cgroup, agent::AgentTag& tag) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != guardian) return agent::kBroken;
  if (::setsid() < 0) sys::throw_errno("setsid");  // a kill of the guardian's process group must not reach the worker
  sys::become_subreaper();
  sys::Fd in = take_over(STDIN_FILENO);
  sys::Fd out = take_over(STDOUT_FILENO);
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  const rlimit open_files = sys::raise_open_files();
  asio::io_context io(1);
  agent::Agent agent(io, std::move(in), std::move(out), open_files, files, cgroup, tag);
  const sigset_t awaited = agent::awaited_by_guardian();
  ::sigprocmask(SIG_UNBLOCK, &awaited, nullptr);  // signals from before this point are delivered now
  return agent.run(guardian);
}

/// `remote`: the launcher is on another host, and reads stderr.
int run(bool remote) {
  ::prctl(PR_SET_NAME, "dlaunch-agent");    // the name would be the number of a descriptor if the file is in memory
  ::syscall(SYS_close_range, 3u, ~0u, 0u);  // ranks must not inherit descriptors of the agent's ancestors
  reset_signals();
  if (::setsid() < 0 && errno != EPERM) sys::throw_errno("setsid");
  sys::become_subreaper();
  agent::JobDirectory files;
  agent::JobCgroup cgroup;
  agent::AgentTag tag;
  const pid_t guardian = ::getpid();
  const sigset_t awaited = agent::awaited_by_guardian();
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);  // a signal before the guardian waits is forwarded, too
  const pid_t worker = ::fork();
  if (worker < 0) sys::throw_errno("fork");
  if (worker == 0) return work(guardian, files, cgroup, tag);
  replace_by_null(STDIN_FILENO);  // only the worker may have the link open: then the launcher sees the worker's end
  replace_by_null(STDOUT_FILENO);
  return agent::guard(worker, remote, files, cgroup);
}

}  // namespace

/// `--probe` shows that this machine can execute the agent; for `--prepare` see agent/workdir_setup.h, for `--dial`
/// agent/dial_in.h. `--local`: the agent of the launcher's machine.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--probe") return 0;
  try {
    if (argc > 2 && std::string_view(argv[1]) == "--prepare") return agent::prepare_main(argv[2]);
    if (argc > 1 && std::string_view(argv[1]) == "--dial") return agent::dial_in_main(argc, argv);
    return run(argc < 2 || std::string_view(argv[1]) != "--local");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlaunch-agent: %s\n", error.what());
    return agent::kBroken;
  }
}
