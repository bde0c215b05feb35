#include "sys/inherited.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "base/text.h"
#include "sys/io.h"

namespace dlaunch::sys {

rlimit raise_open_files() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) throw_errno("setrlimit(RLIMIT_NOFILE)");
  return before;
}

rlim_t open_files_limit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  return now.rlim_cur;
}

rlim_t most_open_files() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  return now.rlim_max;
}

std::optional<int> named_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    const auto number =
        path.starts_with(directory) ? parse_int(path.substr(directory.size()), 0, INT_MAX) : std::nullopt;
    if (number) return static_cast<int>(*number);
  }
  return std::nullopt;
}

/// All descriptors of dlaunch itself have O_CLOEXEC.
Fd open_inherited(std::string_view path) {
  const int descriptor = named_descriptor(path).value_or(-1);
  const int own = ::fcntl(descriptor, F_GETFD);
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (own >= 0 && (own & FD_CLOEXEC) == 0 && (flags & O_ACCMODE) != O_RDONLY)
    return Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  errno = EBADF;
  return {};
}

bool is_same_open_file(int a, int b) {
  return a == b || ::syscall(SYS_kcmp, ::getpid(), ::getpid(), KCMP_FILE, a, b) <= 0;
}

bool appends(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_APPEND) != 0;
}

bool is_kept(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0) return false;
  const bool of_program = (signal == SIGALRM || signal == SIGXCPU) && action.sa_handler != SIG_DFL;
  return of_program || action.sa_handler == SIG_IGN;
}

void restore_ending_signals() {
  for (const int signal : {SIGTERM, SIGCHLD}) {
    if (is_kept(signal)) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void die_of(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // SIGQUIT would write a core file, or start the program of core_pattern:
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

KeptDisposition::KeptDisposition(int signal) : signal_(signal) {
  if (signal_ != 0 && ::sigaction(signal_, nullptr, &before_) != 0) signal_ = 0;
}

KeptDisposition::~KeptDisposition() {
  if (signal_ != 0) ::sigaction(signal_, &before_, nullptr);
}

namespace {

constexpr std::uint32_t kBits = 8 * sizeof(unsigned long);
constexpr size_t kFirstWords = 1024 / kBits;  // size of a cpu_set_t
constexpr size_t kMostWords = 1U << 16U;

std::vector<std::uint32_t> bits_of(const std::vector<unsigned long>& mask) {
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t cpu = 0; cpu < mask.size() * kBits; ++cpu) {
    if ((mask[cpu / kBits] >> (cpu % kBits) & 1U) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

/// The kernel returns EINVAL until the buffer is as large as its own mask.
std::optional<std::vector<std::uint32_t>> affinity_of(pid_t pid) {
  for (size_t words = kFirstWords; words <= kMostWords; words *= 2) {
    std::vector<unsigned long> mask(words);
    if (::sched_getaffinity(pid, words * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      return bits_of(mask);
    }
    if (errno != EINVAL) break;
  }
  return std::nullopt;
}

}  // namespace dlaunch::sys
