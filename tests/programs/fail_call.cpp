// fail_call NOTES ROLE CALL N ERROR PROGRAM [ARGUMENT...]: runs PROGRAM, a launcher, and makes the N-th CALL of one
// process of the job fail with ERROR (a number; 0: read or write only half of the bytes). ROLE is launcher (with its
// threads), starter (its child until the exec), guardian, worker, or rank (the first one, until its exec). With N 0 no
// call fails. The file NOTES gets "hit PID" when the call fails, and at the end "count NAME N" for each call name of
// the process.
//
// Calls count from the beginning of main; those of the dynamic loader and the C library before it do not. The tracer is
// not a relative of the launcher, which keeps its parent, its descriptors and its exit status.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

namespace {

struct Call {
  const char* name;
  unsigned long number;
};

#define CALL(name) \
  Call { #name, SYS_##name }
constexpr Call kCalls[] = {CALL(openat),         CALL(read),
                           CALL(pread64),        CALL(write),
                           CALL(writev),         CALL(pipe2),
                           CALL(socketpair),     CALL(socket),
                           CALL(bind),           CALL(listen),
                           CALL(connect),        CALL(accept4),
                           CALL(sendmsg),        CALL(recvmsg),
                           CALL(sendto),         CALL(recvfrom),
                           CALL(clone),          CALL(clone3),
                           CALL(execve),         CALL(mmap),
                           CALL(epoll_create1),  CALL(epoll_ctl),
                           CALL(epoll_wait),     CALL(poll),
                           CALL(fcntl),          CALL(dup),
                           CALL(dup2),           CALL(dup3),
                           CALL(timerfd_create), CALL(eventfd2),
                           CALL(signalfd4),      CALL(memfd_create),
                           CALL(ftruncate),      CALL(fsync),
                           CALL(getrandom),      CALL(ioctl),
                           CALL(wait4),          CALL(waitid),
                           CALL(pidfd_open),     CALL(pidfd_send_signal),
                           CALL(kill),           CALL(setsid),
                           CALL(prlimit64),      CALL(newfstatat),
                           CALL(getdents64),     CALL(mkdir),
                           CALL(mkdirat),        CALL(unlink),
                           CALL(unlinkat),       CALL(rename),
                           CALL(readlink),       CALL(readlinkat),
                           CALL(chdir),          CALL(sched_setaffinity),
                           CALL(symlink),        CALL(chmod),
                           CALL(fchmod)};
#undef CALL

enum class Role { launcher, starter, guardian, worker, rank, other };
constexpr const char* kRoles[] = {"launcher", "starter", "guardian", "worker", "rank"};

/// A pipe or an eventfd accepts this number of bytes completely or not at all. An event loop wakes itself with such a
/// write.
constexpr unsigned long kWhole = 8;

const char* plain_name(unsigned long number) {
  for (const Call& call : kCalls) {
    if (call.number == number) return call.name;
  }
  return nullptr;
}

/// Whether the descriptor is a file of a disk or of /proc, and not a pipe, a socket or a terminal.
bool is_file(pid_t pid, unsigned long fd) {
  char target[256];
  const std::string link = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  return length > 0 && std::string(target, static_cast<size_t>(length)).rfind("/", 0) == 0 &&
         std::string(target, static_cast<size_t>(length)).rfind("/dev/", 0) != 0;
}

/// The name under which the call is counted; null if the call cannot fail with the arguments of a job. The errors of
/// pipes and sockets differ from those of files.
const char* name_of(pid_t pid, const __ptrace_syscall_info& info) {
  const auto& args = info.entry.args;
  switch (info.entry.nr) {
    case SYS_fcntl:
      return args[1] == F_DUPFD || args[1] == F_DUPFD_CLOEXEC ? "fcntl" : nullptr;
    case SYS_wait4:
      return (args[2] & WNOHANG) != 0 ? nullptr : "wait4";
    case SYS_prlimit64:
      return args[2] != 0 ? "prlimit64" : nullptr;
    case SYS_ioctl:
      return args[1] == FIONBIO ? nullptr : "ioctl";
    case SYS_read:
    case SYS_write:
      if (args[2] <= kWhole && !is_file(pid, args[0])) return nullptr;
      break;
    default:
      break;
  }
  switch (info.entry.nr) {
    case SYS_read:
      return is_file(pid, args[0]) ? "read" : "read_stream";
    case SYS_write:
      return is_file(pid, args[0]) ? "write" : "write_stream";
    default:
      return plain_name(info.entry.nr);
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

long status_field(pid_t pid, const std::string& field) {
  const std::string status = contents("/proc/" + std::to_string(pid) + "/status");
  const size_t at = status.find('\n' + field + ":\t");
  return at == std::string::npos ? 0 : std::atol(status.c_str() + at + field.size() + 3);
}

/// Whether the process now executes the agent, by the first word of its command line.
bool is_agent(pid_t pid) {
  const std::string words = contents("/proc/" + std::to_string(pid) + "/cmdline");
  return std::string(words.c_str()).find("dlaunch-agent") != std::string::npos;
}

class Tracer {
 public:
  Tracer(int notes, Role wanted, std::string call, long n, int error)
      : notes_(notes), wanted_(wanted), call_(std::move(call)), n_(n), error_(error) {}

  void run(pid_t launcher) {
    roles_[launcher] = Role::launcher;
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) break;
      if (WIFSTOPPED(status)) stopped(pid, status);
      if (WIFEXITED(status) || WIFSIGNALED(status)) roles_.erase(pid), failing_.erase(pid);
    }
    std::string text;
    for (const auto& [name, count] : counts_) text += "count " + name + ' ' + std::to_string(count) + '\n';
    note(text);
  }

 private:
  void note(const std::string& text) const {
    if (write(notes_, text.data(), text.size()) < 0) _exit(2);
  }

  Role role(pid_t pid) {
    const auto known = roles_.find(pid);
    if (known != roles_.end()) return known->second;
    const auto process = static_cast<pid_t>(status_field(pid, "Tgid"));
    Role found = Role::other;
    if (process != pid) {
      found = roles_.contains(process) ? roles_[process] : Role::other;
    } else if (const auto parent = roles_.find(static_cast<pid_t>(status_field(pid, "PPid"))); parent != roles_.end()) {
      if (parent->second == Role::launcher) found = first(Role::starter);
      if (parent->second == Role::guardian) found = first(Role::worker);
      if (parent->second == Role::worker) found = first(Role::rank);
    }
    return roles_[pid] = found;
  }

  /// Only the first of each role is counted.
  Role first(Role role) { return seen_[role]++ == 0 ? role : Role::other; }

  void stopped(pid_t pid, int status) {
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    const Role who = role(pid);
    if (signal == (SIGTRAP | 0x80)) return at_call(pid, who);
    if (event == PTRACE_EVENT_EXEC) return executed(pid, who);
    if (event == PTRACE_EVENT_STOP &&
        (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
      ptrace(PTRACE_LISTEN, pid, 0, 0);
      return;
    }
    go_on(pid, event == 0 ? signal : 0);
  }

  void executed(pid_t pid, Role who) {
    if (who == Role::launcher) return go_on(pid, 0);
    if (is_agent(pid)) {
      if (who != Role::guardian) roles_[pid] = first(Role::guardian);
      return go_on(pid, 0);
    }
    if (who == Role::rank) {
      ptrace(PTRACE_DETACH, pid, 0, 0);
      return;
    }
    roles_[pid] = Role::other;  // a shell that will execute the agent
    go_on(pid, 0);
  }

  void at_call(pid_t pid, Role who) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return go_on(pid, 0);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && who == wanted_) entered(pid, info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) left(pid);
    go_on(pid, 0);
  }

  void entered(pid_t pid, const __ptrace_syscall_info& info) {
    if (!begun_) {
      const unsigned long number = info.entry.nr;
      const unsigned long marker = wanted_ == Role::launcher ? SYS_munmap : SYS_close_range;
      begun_ = number == marker || (wanted_ != Role::launcher && wanted_ != Role::guardian);
      if (wanted_ == Role::launcher) return;
    }
    const char* name = name_of(pid, info);
    if (!begun_ || !name) return;
    const int count = ++counts_[name];
    if (n_ == 0 || count != n_ || call_ != name) return;
    note("hit " + std::to_string(pid) + '\n');
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    if (error_ == 0) {
      registers.rdx = (registers.rdx + 1) / 2;
    } else {
      registers.orig_rax = ~0ull;
      failing_[pid] = error_;
    }
    ptrace(PTRACE_SETREGS, pid, 0, &registers);
  }

  void left(pid_t pid) {
    const auto failing = failing_.find(pid);
    if (failing == failing_.end()) return;
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    registers.rax = static_cast<unsigned long long>(-failing->second);
    ptrace(PTRACE_SETREGS, pid, 0, &registers);
    failing_.erase(failing);
  }

  static void go_on(pid_t pid, int signal) { ptrace(PTRACE_SYSCALL, pid, 0, signal); }

  int notes_;
  Role wanted_;
  std::string call_;
  long n_;
  int error_;
  bool begun_ = false;
  std::map<pid_t, Role> roles_;
  std::map<Role, int> seen_;
  std::map<pid_t, int> failing_;
  std::map<std::string, int> counts_;
};

/// Runs in a process without a parent. Closes the launcher's descriptors, so that their other ends see the launcher's
/// end.
[[noreturn]] void trace(pid_t launcher, const char* notes, Tracer (*make)(int, char**), char** argv, int ready) {
  setsid();
  const int file = open(notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  constexpr long kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  if (file < 0 || ptrace(PTRACE_SEIZE, launcher, 0, kOptions) != 0) _exit(2);
  ptrace(PTRACE_INTERRUPT, launcher, 0, 0);
  const bool told = write(ready, "k", 1) == 1;
  const int kept = fcntl(file, F_DUPFD_CLOEXEC, 1000);
  close_range(0, 999, 0);
  if (told) make(kept, argv).run(launcher);
  _exit(0);
}

Tracer make_tracer(int notes, char** argv) {
  int role = 0;
  while (role < 5 && std::strcmp(kRoles[role], argv[2]) != 0) ++role;
  return {notes, static_cast<Role>(role), argv[3], std::atol(argv[4]), std::atoi(argv[5])};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  int ready[2];
  if (pipe(ready) != 0) return 2;
  const pid_t self = getpid();
  const pid_t middle = fork();
  if (middle == 0) {
    if (fork() == 0) trace(self, argv[1], make_tracer, argv, ready[1]);
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) {
    std::perror("fail_call: cannot trace");
    return 2;
  }
  close(ready[0]);
  execv(argv[6], argv + 6);
  std::perror(argv[6]);
  return 2;
}
