#include "sys/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "sys/io.h"

namespace dlaunch::sys {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 64u << 10;
constexpr std::chrono::milliseconds kReapEvery{5};  // a process that closed its output has all but ended

int left_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

/// In the child; does not return. Only calls that are safe after a fork.
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

/// errno of the start, 0 when the program runs.
int start_error(const Fd& failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

/// Whether the end came in time.
bool read_all(int fd, std::string& output, Clock::time_point deadline) {
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, left_until(deadline));
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
  output.write.reset();
  failure.write.reset();
  if (pid_ > 0) error_ = start_error(failure.read);
  output_ = std::move(output.read);
}

Capture::Capture(Capture&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)), error_(other.error_) {}

Capture::~Capture() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // it may not lead its group yet
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Captured Capture::finish(Clock::time_point deadline) {
  Captured result;
  result.error = error_;
  if (error_ != 0) return result;
  bool ended = read_all(output_.get(), result.output, deadline);
  pid_t reaped = 0;
  while (ended && (reaped = ::waitpid(pid_, &result.wait_status, WNOHANG)) == 0) {
    ended = left_until(deadline) > 0;
    ::poll(nullptr, 0, static_cast<int>(kReapEvery.count()));
  }
  result.timed_out = !ended;
  if (reaped == pid_) pid_ = -1;
  return result;
}

}  // namespace dlaunch::sys
