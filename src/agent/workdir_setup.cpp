#include "agent/workdir_setup.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/archive_extractor.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kMostQueued = 64;             // frames: all file frames except the last are large
constexpr size_t kLongestFailure = 16u << 10;  // fits into a pipe that is read only after its writer has ended

std::string one_line(const Error& error) { return error.why.empty() ? error.what : error.what + ": " + error.why; }

/// Reads the failure and the hint of an ended process.
std::pair<std::string, std::string> read_failure(const sys::Fd& from) {
  std::string text(kLongestFailure, '\0');
  sys::set_nonblocking(from.get());
  const ssize_t got = ::read(from.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  const size_t newline = text.find('\n');
  if (newline == std::string::npos) return {text, ""};
  return {text.substr(0, newline), text.substr(newline + 1)};
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// The inherited directories of "5,6".
std::vector<sys::HeldDirectory> directories_of(std::string_view numbers) {
  std::vector<sys::HeldDirectory> directories;
  for (const std::string& number : split(numbers, ',')) {
    const int fd = std::atoi(number.c_str());
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    directories.emplace_back(sys::Fd(fd));
  }
  return directories;
}

/// The work of the prepare process; take() returns true when all work is done.
class Work {
 public:
  explicit Work(std::vector<sys::HeldDirectory> directories) : directories_(std::move(directories)) {}

  Result<bool> take(const wire::Message& message) {
    if (const auto* asked = std::get_if<wire::Prepare>(&message)) return prepare(*asked);
    if (const auto* stage = std::get_if<wire::Stage>(&message); stage && extractor_) {
      TRY(extractor_->feed(stage->bytes));
      if (!stage->eof || extractor_->complete()) return stage->eof;
    }
    return fail({.where = "", .what = "cannot write the files of --stage", .why = "incomplete archive", .hint = ""});
  }

 private:
  Result<bool> prepare(const wire::Prepare& asked) {
    std::vector<ArchiveExtractor::Target> targets;
    for (size_t i = 0; i < std::min(asked.dirs.size(), directories_.size()); ++i) {
      TRY(empty_rank_dir(directories_[i], asked.dirs[i], asked.kept));
      targets.push_back({asked.dirs[i], std::move(directories_[i])});
    }
    extractor_.emplace(std::move(targets));
    return !asked.staged;
  }

  std::vector<sys::HeldDirectory> directories_;
  std::optional<ArchiveExtractor> extractor_;
};

Result<void> work_off(int fd, Work work) {
  wire::Decoder decoder;
  std::array<char, wire::kMaxOutput> bytes{};
  for (;;) {
    auto message = TRY(decoder.next());
    if (message) {
      const auto done = TRY(work.take(*message));
      if (done) return {};
      continue;
    }
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail({.where = "", .what = "the agent closed the pipe", .why = "", .hint = ""});
    decoder.feed({bytes.data(), static_cast<size_t>(got)});
  }
}

}  // namespace

void WorkdirSetup::prepare(wire::Prepare&& asked) {
  for (const std::string& dir : asked.dirs) dirs_.erase(dir);  // unlocks the directory for the same job
  auto taken = take_rank_dirs(asked);
  if (!taken) return answer(one_line(taken.error()), taken.error().hint);
  std::vector<int> directories;
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    directories.push_back(taken->dirs[i].directory.fd());
    dirs_[asked.dirs[i]] = std::move(taken->dirs[i]);
  }
  if (!taken->used && !asked.staged) return answer({}, {});
  if (!start(directories)) return answer("cannot start a process: " + std::string(std::strerror(errno)), {});
  push(asked, 0);
  wait();
}

bool WorkdirSetup::start(const std::vector<int>& directories) {
  sys::Pipe in = sys::make_pipe();
  sys::Pipe out = sys::make_pipe();
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!in.read || !out.read || !null) return false;
  char name[] = "dlaunch-agent";
  char flag[] = "--prepare";
  std::string numbers = joined(directories);
  char* const argv[] = {name, flag, numbers.data(), nullptr};
  Launch launch;
  launch.path = "/proc/self/exe";
  launch.argv = argv;
  launch.envp = environ;  // contains the tags by which a sweep finds processes of the job
  launch.wdir = "/";
  launch.kept = directories;
  launch.in = in.read.get();
  launch.out = out.write.get();
  launch.err = null.get();
  ::getrlimit(RLIMIT_NOFILE, &launch.open_files);
  oom_.emplace();
  const ProcessSpawner::Child child = spawner_.spawn(launch);
  if (child.pid < 0) {
    errno = child.error;
    return false;
  }
  pid_ = child.pid;
  failure_ = child.slot;
  failure_text_ = std::move(out.read);
  in_ = std::make_unique<StdinFeeder>(io_, std::move(in.write), false,
                                      StdinFeeder::Handlers{[this](std::uint32_t bytes) { took(bytes); },
                                                            [this] {
                                                              sent_.clear();
                                                              files_ = 0;
                                                            }});
  return true;
}

bool WorkdirSetup::stage(const wire::Stage& stage) {
  if (!in_) return true;  // already failed and reported
  if (stage.bytes.size() > wire::kStageCredit - files_ || sent_.size() > kMostQueued) return false;
  push(stage, static_cast<std::uint32_t>(stage.bytes.size()));
  wait();
  return true;
}

void WorkdirSetup::push(const wire::Message& message, std::uint32_t files) {
  std::string frame;
  wire::encode(message, frame);
  sent_.push_back({frame.size(), files});
  files_ += files;
  in_->push(frame, false);
}

void WorkdirSetup::took(size_t bytes) {
  taken_ += bytes;
  std::uint32_t granted = 0;
  while (!sent_.empty() && taken_ >= sent_.front().frame) {
    taken_ -= sent_.front().frame;
    granted += sent_.front().files;
    files_ -= sent_.front().files;
    sent_.pop_front();
  }
  if (granted > 0) link_.send(wire::StageCredit{granted});
}

void WorkdirSetup::wait() {
  timer_.expires_after(kPatience);
  timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (error || pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    answer("timed out after " + std::to_string(kPatience.count()) + " s waiting for the rank directories", {});
  }));
}

bool WorkdirSetup::reaped(pid_t pid, int wait_status) {
  if (pid != pid_) return false;
  pid_ = 0;
  timer_.cancel();
  if (!failure_text_) return true;
  auto [why, hint] = read_failure(failure_text_);
  if (wait_status != 0 && why.empty()) {
    why = "the process that creates the rank directories " + ExitStatus::from_wait(wait_status).describe();
    if (WIFSIGNALED(wait_status) && oom_) why += oom_->text();
  }
  if (const auto failure = ProcessSpawner::failure(failure_))
    why = "cannot start a process: " + std::string(std::strerror(failure->error));
  answer(std::move(why), std::move(hint));
  return true;
}

void WorkdirSetup::answer(std::string why, std::string hint) {
  stop();
  link_.send(wire::Prepared{std::move(why), std::move(hint)});
}

void WorkdirSetup::stop() {
  timer_.cancel();
  in_.reset();
  failure_text_.reset();
}

int prepare_main(std::string_view directories) {
  const auto done = work_off(STDIN_FILENO, Work(directories_of(directories)));
  if (done) return 0;
  const std::string text = (one_line(done.error()) + '\n' + done.error().hint).substr(0, kLongestFailure);
  [[maybe_unused]] const ssize_t wrote = ::write(STDOUT_FILENO, text.data(), text.size());
  return 1;
}

}  // namespace dlaunch::agent
