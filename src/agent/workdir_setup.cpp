#include "agent/workdir_setup.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "agent/archive_extractor.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "link/timer.h"
#include "sys/descendants.h"
#include "sys/held_directory.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kMostQueued = 64;      // frames: all file frames except the last are large
constexpr size_t kLongest = 16u << 10;  // a report of the process

/// The first byte of each packet that the process sends.
enum class Report : char {
  at = '@',      ///< then a path: the next system call on the path can hang
  taken = '+',   ///< with the descriptors of the next directory and its marker
  agreed = '=',  ///< all directories are taken, and not emptied yet
  failed = '!',  ///< then a line with the failure, and a line with a hint
};

/// The process's side of the reports.
class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}

  void at(const std::string& path) {
    if (path == at_) return;
    at_ = path;
    sys::write_all(fd_, static_cast<char>(Report::at) + path);
  }
  bool taken(const RankDir& dir) const {
    const std::array fds{sys::Fd(::fcntl(dir.directory.fd(), F_DUPFD_CLOEXEC, 3)),
                         sys::Fd(::fcntl(dir.marker.get(), F_DUPFD_CLOEXEC, 3))};
    const char first = static_cast<char>(Report::taken);
    return fds[0] && fds[1] && sys::send_some(fd_, {&first, 1}, fds) == 1;
  }
  void agreed() const {
    const char first = static_cast<char>(Report::agreed);
    sys::write_all(fd_, {&first, 1});
  }
  void failed(const Error& error) const {
    sys::write_all(fd_,
                   (static_cast<char>(Report::failed) + what_and_why(error) + '\n' + error.hint).substr(0, kLongest));
  }

 private:
  const int fd_;
  std::string at_;
};

/// The work of the prepare process; take() returns true when all work is done. If the work ends before the first Stage,
/// the job does not start, and the directories get the state that they had.
class Work {
 public:
  Work(Reporter& reporter, std::string job) : reporter_(reporter), job_(std::move(job)) {}
  ~Work() {
    if (!begun_) undo_rank_dirs(taken_);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  Result<bool> take(wire::Message& message) {
    if (auto* asked = std::get_if<wire::Prepare>(&message)) {
      asked_ = std::move(*asked);
      return take_directories().map([] { return false; });
    }
    if (const auto* stage = std::get_if<wire::Stage>(&message)) {
      if (!extractor_) TRY(empty_directories());
      if (auto written = extractor_->feed(stage->bytes); !written) return tl::unexpected(told_emptied(written.error()));
      if (!stage->eof) return false;
      if (extractor_->complete()) return finish().map([] { return true; });
    }
    return fail({.where = "", .what = "cannot write the files of --stage", .why = "incomplete archive", .hint = ""});
  }

 private:
  Result<void> take_directories() {
    TRY(take_rank_dirs(asked_, job_, at_, taken_));
    for (const RankDir& dir : taken_.dirs) {
      if (!reporter_.taken(dir)) {
        return fail({.where = "", .what = "cannot send a directory", .why = std::strerror(errno), .hint = ""});
      }
    }
    reporter_.agreed();
    return {};
  }

  /// Ranks of this job already have files in a filled directory: on a disk that hosts share, a spare host uses the
  /// directories of the lost host.
  Result<void> empty_directories() {
    begun_ = true;
    std::vector<ArchiveExtractor::Target> targets;
    for (size_t i = 0; i < taken_.dirs.size(); ++i) {
      if (is_filled(taken_.dirs[i], job_)) continue;
      at_(asked_.dirs[i]);
      mark_unfilled(taken_.dirs[i]);
      TRY(empty_rank_dir(taken_.dirs[i].directory, asked_.dirs[i], asked_.kept));
      targets.push_back({asked_.dirs[i], std::move(taken_.dirs[i].directory)});
    }
    extractor_.emplace(std::move(targets), at_);
    return {};
  }

  static Error told_emptied(Error error) {
    error.why += "; dlaunch has already removed the files of earlier jobs from the rank directories of this host";
    return error;
  }

  Result<void> finish() {
    TRY(extractor_->set_modes());
    for (const RankDir& dir : taken_.dirs) mark_filled(dir, job_);
    return {};
  }

  Reporter& reporter_;
  const std::string job_;
  const AtPath at_ = [this](const std::string& path) { reporter_.at(path); };
  wire::Prepare asked_;
  TakenDirs taken_;
  bool begun_ = false;  // all hosts have agreed
  std::optional<ArchiveExtractor> extractor_;
};

Result<void> work_off(int fd, Work& work) {
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

std::optional<std::string> WorkdirSetup::on(wire::Message& message) {
  if (auto* const asked = std::get_if<wire::Prepare>(&message)) {
    prepare(std::move(*asked));
    return "";
  }
  const auto* const files = std::get_if<wire::Stage>(&message);
  if (!files) return std::nullopt;
  return stage(*files) ? "" : "protocol error: the launcher sent more --stage data than the agent granted";
}

/// Removes the directories from `asked` that this job has filled on this host. Unlocks all other directories, for this
/// agent's child or for another agent of the job.
void WorkdirSetup::keep_filled(wire::Prepare& asked) {
  RankDirs kept;
  std::vector<std::string> dirs;
  std::vector<std::string> bases;
  for (size_t i = 0; i < asked.dirs.size(); ++i) {
    if (const auto held = dirs_.find(asked.dirs[i]); held != dirs_.end() && held->second.filled) {
      kept.insert(dirs_.extract(held));
      continue;
    }
    dirs.push_back(std::move(asked.dirs[i]));
    if (i < asked.bases.size()) bases.push_back(std::move(asked.bases[i]));
  }
  std::tie(asked.dirs, asked.bases, dirs_) = std::tuple(std::move(dirs), std::move(bases), std::move(kept));
}

void WorkdirSetup::prepare(wire::Prepare&& asked) {
  keep_filled(asked);
  if (!start()) return answer("cannot start a process: " + std::string(std::strerror(errno)), {});
  push(asked, 0);
  failure_text_.clear();
  not_taken_.assign(asked.dirs.begin(), asked.dirs.end());
  filling_ = false;
  wait_reports();
  wait();
}

bool WorkdirSetup::start() {
  sys::Pipe in = sys::make_pipe();
  int packets[2];
  if (!in.read || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets) != 0) return false;
  sys::Fd reports(packets[0]);
  const sys::Fd theirs(packets[1]);
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return false;
  char name[] = "dlaunch-agent";
  char flag[] = "--prepare";
  std::string job = job_;
  char* const argv[] = {name, flag, job.data(), nullptr};
  Launch launch = launch_helper("/proc/self/exe", argv);
  launch.in = in.read.get();
  launch.out = theirs.get();
  launch.err = null.get();
  oom_.emplace();
  const auto pid = children_.spawn(launch, lifetime_.guard([this](const Children::End& end) { process_ended(end); }));
  if (!pid) {
    errno = pid.error();
    return false;
  }
  pid_ = *pid;
  reports_ = std::make_unique<asio::posix::stream_descriptor>(io_, reports.release());
  reports_->non_blocking(true);
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
  filling_ = true;
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

void WorkdirSetup::wait_reports() {
  reports_->async_wait(asio::posix::stream_descriptor::wait_read, lifetime_.guard([this](asio::error_code error) {
    if (!error && reports_ && read_reports()) wait_reports();
  }));
}

/// Returns false at the end of the reports, and after an error. After an error, the process ends because its stdin is
/// closed; the timer runs because the process may wait for a disk meanwhile.
bool WorkdirSetup::read_reports() {
  std::string packet(kLongest, '\0');
  for (;;) {
    std::vector<sys::Fd> fds;
    const ssize_t got = sys::receive_some(reports_->native_handle(), packet, fds);
    if (got < 0 && errno == EAGAIN) return true;
    if (got < 0) {
      failure_text_ = "cannot read the reports of the process that creates the rank directories: " +
                      std::string(std::strerror(errno));
      in_.reset();
      wait();
    }
    if (got <= 0) return false;
    const std::string text = packet.substr(1, static_cast<size_t>(got) - 1);
    switch (static_cast<Report>(packet[0])) {
      case Report::at:
        at_ = text;
        break;
      case Report::agreed:
        timer_.cancel();
        link_.send(wire::Prepared{});
        break;
      case Report::failed:
        if (failure_text_.empty()) failure_text_ = text;
        break;
      case Report::taken:
        if (fds.size() != 2 || not_taken_.empty()) break;
        dirs_[not_taken_.front()] = {sys::HeldDirectory(std::move(fds[0])), std::move(fds[1])};
        not_taken_.pop_front();
        break;
    }
  }
}

void WorkdirSetup::wait() {
  timer_.expires_after(kPatience);
  timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!link::is_due(error, timer_) || pid_ == 0) return;
    const auto process = sys::find_process(pid_);
    std::string why = "timed out after " + std::to_string(kPatience.count()) + " s waiting for the disk of " + at_;
    if (process && process->state == 'D') why += "; " + explained(sys::describe(*process));
    answer(std::move(why), {});
  }));
}

std::string WorkdirSetup::explained(std::string process) const {
  if (pid_ == 0 || !process.starts_with("pid " + std::to_string(pid_) + " ")) return process;
  return process + ": the process stays on this host until the disk of " + at_ + " answers";
}

void WorkdirSetup::process_ended(const Children::End& end) {
  if (end.pid != pid_) return;  // the process of an earlier Prepare
  pid_ = 0;
  timer_.cancel();
  if (!reports_) return;
  read_reports();
  if (end.wait_status == 0 && !end.not_started) {
    for (auto& [path, dir] : dirs_) dir.filled = true;
  }
  const size_t newline = std::min(failure_text_.find('\n'), failure_text_.size());
  std::string why = failure_text_.substr(0, newline);
  std::string hint = failure_text_.substr(std::min(newline + 1, failure_text_.size()));
  if (end.wait_status != 0 && why.empty()) {
    why = "the process that creates the rank directories " + ExitStatus::from_wait(end.wait_status).describe();
    if (WIFSIGNALED(end.wait_status) && oom_) why += oom_->text();
  }
  if (end.not_started) why = "cannot start a process: " + std::string(std::strerror(end.not_started->error));
  answer(std::move(why), std::move(hint));
}

void WorkdirSetup::answer(std::string why, std::string hint) {
  stop();
  link_.send(wire::Prepared{std::move(why), std::move(hint)});
}

void WorkdirSetup::stop() {
  timer_.cancel();
  in_.reset();
  reports_.reset();
  if (pid_ > 0 && filling_) ::kill(pid_, SIGKILL);  // otherwise the process removes what it created
}

/// A batch system signals all processes of the job. The agent reports the signal, and ends this process by KILL.
int prepare_main(const std::string& job) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) std::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "dlaunch-files");
  Reporter reporter(STDOUT_FILENO);
  Work work(reporter, job);
  const auto done = work_off(STDIN_FILENO, work);
  if (done) return 0;
  reporter.failed(done.error());
  return 1;
}

}  // namespace dlaunch::agent
