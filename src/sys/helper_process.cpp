#include "sys/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sys/child.h"

namespace dlaunch::sys {
namespace {

constexpr int kWorkFailed = 70;  // EX_SOFTWARE

/// Handlers inherited from the parent would write into descriptors that are other files here.
void ignore_signals() {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &ignore, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

/// A child with our stdout open would keep the reader of our stdout waiting. So a socket takes its place: output to
/// /dev/stdout must not vanish, and open() of a socket by that name is an error.
void lead_nowhere() {
  const Fd nowhere(::socket(AF_UNIX, SOCK_STREAM, 0));
  for (int fd = 0; fd <= 2; ++fd) ::dup2(nowhere.get(), fd);
}

/// Closes all descriptors above 2 except for `kept`.
void keep_only(std::vector<int> kept) {
  std::ranges::sort(kept);
  int first = 3;
  for (const int fd : kept) {
    if (first < fd) ::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(fd - 1), 0u);
    first = std::max(first, fd + 1);
  }
  ::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, 0u);
}

/// Closes all other descriptors that dlaunch opened.
void keep_inherited(const std::vector<int>& kept) {
  std::error_code none;
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none))
    open.push_back(std::atoi(entry.path().filename().c_str()));
  for (const int fd : open) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (std::ranges::find(kept, fd) == kept.end() && flags >= 0 && (flags & FD_CLOEXEC) != 0) ::close(fd);
  }
}

[[noreturn]] void run_work(const std::function<void(HelperProcess::Ends)>& work, HelperProcess::Ends ends,
                           HelperProcess::Inherited inherited, std::vector<int> kept) {
  ignore_signals();
  ::prctl(PR_SET_NAME, "dlaunch-files");
  int code = 0;
  try {
    kept.insert(kept.end(), {ends.in, ends.out});
    if (inherited == HelperProcess::Inherited::kept) {
      keep_inherited(kept);
    } else {
      lead_nowhere();
      keep_only(std::move(kept));
    }
    work(ends);
  } catch (...) {
    code = kWorkFailed;
  }
  ::_exit(code);
}

}  // namespace

bool HelperProcess::Ends::gave_up() const {
  pollfd parent{in, 0, 0};
  return ::poll(&parent, 1, 0) > 0 && (parent.revents & POLLHUP) != 0;
}

HelperProcess::HelperProcess(int pid, Fd handle, Fd in, Fd out)
    : pid_(pid), handle_(std::move(handle)), in_(std::move(in)), out_(std::move(out)) {}

std::optional<HelperProcess> HelperProcess::start(const std::function<void(Ends)>& work, Inherited inherited,
                                                  std::vector<int> kept) {
  Pipe to = make_pipe();
  Pipe gate = make_pipe();  // the work begins when the parent has a handle of the process
  int sockets[2];
  if (!to.read || !gate.read || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return std::nullopt;
  Fd ours(sockets[0]);
  const Fd theirs(sockets[1]);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the parent's handlers must not run in the child
  const pid_t pid = ::fork();
  if (pid == 0) {
    gate.write.reset();
    char begin = 0;
    if (::read(gate.read.get(), &begin, 1) != 1) ::_exit(0);
    run_work(work, {to.read.get(), theirs.get()}, inherited, std::move(kept));
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (pid < 0) return std::nullopt;
  Fd handle = open_pidfd(pid);
  write_all(gate.write.get(), "b");
  return HelperProcess(pid, std::move(handle), std::move(to.write), std::move(ours));
}

HelperProcess::~HelperProcess() {
  if (!owned_) return;
  kill();
  wait(std::chrono::milliseconds(0));
}

std::optional<std::string> HelperProcess::read_all(std::chrono::milliseconds longest, std::string* got,
                                                   std::size_t most, const Wait& wait) const {
  std::string all;
  const Time until = Clock::now() + longest;
  for (;;) {
    pollfd ready{out_.get(), POLLIN, 0};
    const int count = Clock::now() < until ? wait({&ready, 1}, until) : 0;
    if (count <= 0) {
      if (got) *got = std::move(all);
      if (count == 0) errno = ETIMEDOUT;
      return std::nullopt;
    }
    char some[4096];
    const ssize_t size = ::read(out_.get(), some, sizeof some);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return all;
    all.append(some, static_cast<std::size_t>(size));
    if (all.size() >= most) return all;
  }
}

bool HelperProcess::receive(std::string& got) const {
  for (;;) {
    char some[4096];
    const ssize_t size = ::recv(out_.get(), some, sizeof some, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size == 0 || errno != EAGAIN;
    got.append(some, static_cast<std::size_t>(size));
  }
}

void HelperProcess::kill() { signal(SIGKILL); }

void HelperProcess::leave() {
  owned_ = false;
  signal(SIGCONT);
}

void HelperProcess::signal(int number) const {
  siginfo_t unused{};
  if (handle_) {
    ::syscall(SYS_pidfd_send_signal, handle_.get(), number, nullptr, 0);
  } else if (::waitid(P_PID, static_cast<id_t>(pid_), &unused, WEXITED | WNOHANG | WNOWAIT) == 0) {  // still a child
    ::kill(pid_, number);
  }
}

bool HelperProcess::wait(std::chrono::milliseconds longest) {
  if (!handle_) return reap_by(pid_, handle_, Clock::now() + longest);
  pollfd ended{handle_.get(), POLLIN, 0};
  if (poll_until({&ended, 1}, Clock::now() + longest) <= 0) return false;
  siginfo_t status{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(handle_.get()), &status, WEXITED | WNOHANG);
  return true;
}

}  // namespace dlaunch::sys
