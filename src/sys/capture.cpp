#include "sys/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/time.h"
#include "sys/child.h"
#include "sys/io.h"

namespace dlaunch::sys {
namespace {

constexpr size_t kMostOutput = 64u << 10;
constexpr std::chrono::milliseconds kKillWait{500};  // then the process sleeps uninterruptibly, and is left to init

/// Runs in the child; does not return. Makes only calls that are safe after a fork.
[[noreturn]] void become(char* const* argv, int output, int failure, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

/// Returns true if the end of file came in time.
bool read_all(int fd, std::string& output, Clock::time_point deadline) {
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, milliseconds_until(deadline));
    if (ready == 0) return false;
    if (ready < 0) continue;  // EINTR
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return true;
    if (output.size() < kMostOutput) output.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

Capture::Capture(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Pipe output = make_pipe();
  Pipe failure = make_pipe();
  if (!output.read || !failure.read) {
    error_ = errno;
    return;
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(words.data(), output.write.get(), failure.write.get(), parent);
  error_ = pid_ < 0 ? errno : 0;
  output_ = std::move(output.read);
  failure_ = std::move(failure.read);
}

Capture::Capture(Capture&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      failure_(std::move(other.failure_)),
      error_(other.error_) {}

Capture::~Capture() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // the child may not lead its group yet
  int wait_status = 0;
  reap_by(Clock::now() + kKillWait, wait_status);
}

bool Capture::reap_by(Clock::time_point deadline, int& wait_status) {
  const bool reaped = sys::reap_by(pid_, open_pidfd(pid_), deadline, &wait_status);
  if (reaped) pid_ = -1;
  return reaped;
}

Captured Capture::finish(Clock::time_point deadline) {
  Captured result;
  result.error = error_;
  if (error_ != 0) return result;
  std::string failure;  // empty if exec succeeds
  const bool began = read_all(failure_.get(), failure, deadline);
  if (failure.size() == sizeof result.error) std::memcpy(&result.error, failure.data(), failure.size());
  if (result.error != 0) return result;
  result.timed_out =
      !began || !read_all(output_.get(), result.output, deadline) || !reap_by(deadline, result.wait_status);
  return result;
}

}  // namespace dlaunch::sys
