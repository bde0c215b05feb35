#include "agent/workdir_setup.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "link/timer.h"
#include "sys/descendants.h"
#include "sys/held_directory.h"
#include "sys/io.h"
#include "wire/archive.h"
#include "wire/codec.h"

namespace dlaunch::agent {
namespace {

using Kind = wire::ArchiveItem::Kind;

constexpr mode_t kOurs = 0700;  // the directory must be writable while it is filled, whatever its permissions

tl::unexpected<Error> path_error(const std::string& path, int error) {
  return fail({.where = "", .what = "cannot write " + path, .why = sys::why_not_opened(error), .hint = ""});
}

std::string last_name(const std::string& name) { return name.substr(name.rfind('/') + 1); }

/// Extracts an archive (wire/archive.h), as its bytes arrive, into several directories at once, without following
/// links. Owned by the process of agent/workdir_setup.h.
class ArchiveExtractor {
 public:
  struct Target {
    std::string path;  ///< for messages
    sys::HeldDirectory directory;
  };
  ArchiveExtractor(std::vector<Target> targets, AtPath at);

  Result<void> feed(std::string_view bytes) { return reader_.feed(bytes); }
  /// Whether the whole archive has arrived.
  bool complete() const { return reader_.complete(); }
  /// Gives the new directories the modes of the archive, after the last file.
  Result<void> set_modes() const;

 private:
  Result<void> begin(const wire::ArchiveItem& item);
  Result<void> content(std::string_view bytes);
  Result<void> end();
  Result<void> begin_in(const Target& target);
  Result<void> make_directory(const Target& target, const sys::HeldDirectory& parent);
  std::string path_in(const Target& target) const { return target.path + '/' + item_.name; }

  struct Made {
    const Target& target;
    std::string name;
    mode_t mode;
    struct stat facts;
  };

  const std::vector<Target> targets_;
  const AtPath at_;
  wire::ArchiveItem item_;
  std::vector<sys::Fd> files_;  // one per directory, while the item is a file
  std::string target_;          // while the item is a link
  std::vector<Made> made_;
  wire::ArchiveReader reader_;
};

ArchiveExtractor::ArchiveExtractor(std::vector<Target> targets, AtPath at)
    : targets_(std::move(targets)),
      at_(std::move(at)),
      reader_({[this](const wire::ArchiveItem& item) { return begin(item); },
               [this](std::string_view bytes) { return content(bytes); }, [this] { return end(); }}) {}

Result<void> ArchiveExtractor::begin(const wire::ArchiveItem& item) {
  item_ = item;
  for (const Target& target : targets_) {
    at_(target.path);
    TRY(begin_in(target));
  }
  return {};
}

Result<void> ArchiveExtractor::begin_in(const Target& target) {
  if (item_.kind == Kind::link) return {};
  const sys::HeldDirectory parent = target.directory.open_parent_below(item_.name);
  if (!parent) return path_error(path_in(target), errno);
  if (item_.kind == Kind::file) {
    files_.push_back(parent.open_file(last_name(item_.name), O_WRONLY | O_CREAT | O_EXCL, item_.permissions));
    if (!files_.back()) return path_error(path_in(target), errno);
    ::fchmod(files_.back().get(), item_.permissions);  // adds what the umask removed; some file systems have no modes
    return {};
  }
  return make_directory(target, parent);
}

/// An existing directory keeps its mode: the launcher may have created the directory for log files, or another user may
/// have moved a directory of this user here. Only an empty directory counts as new.
Result<void> ArchiveExtractor::make_directory(const Target& target, const sys::HeldDirectory& parent) {
  const std::string name = last_name(item_.name);
  const bool is_new = ::mkdirat(parent.fd(), name.c_str(), item_.permissions | kOurs) == 0;
  if (!is_new && errno != EEXIST) return path_error(path_in(target), errno);
  const sys::HeldDirectory made = parent.open_below(name);
  const auto facts = made ? made.facts() : std::nullopt;
  if (!facts) return path_error(path_in(target), errno);
  bool is_empty = true;
  const int error = made.for_each_entry([&](const dirent&) { return is_empty = false; });
  if (is_new && is_empty && error == 0) made_.push_back({target, item_.name, item_.permissions, *facts});
  return {};
}

Result<void> ArchiveExtractor::set_modes() const {
  for (const Made& made : std::views::reverse(made_)) {  // a directory before its parent
    at_(made.target.path);
    const sys::HeldDirectory parent = made.target.directory.open_parent_below(made.name);
    const sys::HeldDirectory directory = parent ? parent.open_below(last_name(made.name)) : sys::HeldDirectory();
    const auto facts = directory ? directory.facts() : std::nullopt;
    const int error = facts ? ESTALE : errno;
    if (!facts || !sys::is_same(*facts, made.facts)) return path_error(made.target.path + '/' + made.name, error);
    directory.set_mode(made.mode | (facts->st_mode & S_ISGID));  // some file systems have no modes
  }
  return {};
}

Result<void> ArchiveExtractor::content(std::string_view bytes) {
  if (item_.kind == Kind::link) target_ += bytes;
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (!sys::write_all(files_[i].get(), bytes)) return path_error(path_in(targets_[i]), errno);
  }
  return {};
}

Result<void> ArchiveExtractor::end() {
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (::close(files_[i].release()) != 0)
      return path_error(path_in(targets_[i]), errno);  // NFS reports a full disk here
  }
  files_.clear();
  const std::string text = std::exchange(target_, {});
  if (item_.kind != Kind::link) return {};
  for (const Target& target : targets_) {
    at_(target.path);
    const sys::HeldDirectory parent = target.directory.open_parent_below(item_.name);
    const int error = parent ? parent.make_link(last_name(item_.name), text) : errno;
    if (error != 0) return path_error(path_in(target), error);
  }
  return {};
}

constexpr size_t kMostQueued = 64;      // frames: all file frames except the last are large
constexpr size_t kLongest = 16u << 10;  // a report of the process

/// The first byte of each packet that the process sends.
enum class Report : char {
  at = '@',      ///< then a path: the next system call on the path can hang
  taken = '+',   ///< with the descriptors of the next directory and its marker
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
  void failed(const Error& error) const {
    sys::write_all(fd_,
                   (static_cast<char>(Report::failed) + what_and_why(error) + '\n' + error.hint).substr(0, kLongest));
  }

 private:
  const int fd_;
  std::string at_;
};

/// The work of the prepare process; take() returns true when all work is done.
class Work {
 public:
  explicit Work(Reporter& reporter) : reporter_(reporter) {}

  Result<bool> take(const wire::Message& message) {
    if (const auto* asked = std::get_if<wire::Prepare>(&message)) return prepare(*asked);
    if (const auto* stage = std::get_if<wire::Stage>(&message); stage && extractor_) {
      TRY(extractor_->feed(stage->bytes));
      if (!stage->eof) return false;
      if (extractor_->complete()) return extractor_->set_modes().map([] { return true; });
    }
    return fail({.where = "", .what = "cannot write the files of --stage", .why = "incomplete archive", .hint = ""});
  }

 private:
  Result<bool> prepare(const wire::Prepare& asked) {
    const AtPath at = [this](const std::string& path) { reporter_.at(path); };
    auto taken = TRY(take_rank_dirs(asked, at));
    for (const RankDir& dir : taken) {
      if (!reporter_.taken(dir)) {
        return fail({.where = "", .what = "cannot send a directory", .why = std::strerror(errno), .hint = ""});
      }
    }
    std::vector<ArchiveExtractor::Target> targets;
    for (size_t i = 0; i < taken.size(); ++i) {
      at(asked.dirs[i]);
      TRY(empty_rank_dir(taken[i].directory, asked.dirs[i], asked.kept));
      targets.push_back({asked.dirs[i], std::move(taken[i].directory)});
    }
    extractor_.emplace(std::move(targets), at);
    return !asked.staged;
  }

  Reporter& reporter_;
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

std::optional<std::string> WorkdirSetup::on(wire::Message& message) {
  if (auto* const asked = std::get_if<wire::Prepare>(&message)) {
    prepare(std::move(*asked));
    return "";
  }
  const auto* const files = std::get_if<wire::Stage>(&message);
  if (!files) return std::nullopt;
  return stage(*files) ? "" : "protocol error: the launcher sent more --stage data than the agent granted";
}

void WorkdirSetup::prepare(wire::Prepare&& asked) {
  for (const std::string& dir : asked.dirs) dirs_.erase(dir);  // unlocks the directory for the same job
  if (!start()) return answer("cannot start a process: " + std::string(std::strerror(errno)), {});
  push(asked, 0);
  failure_text_.clear();
  not_taken_.assign(asked.dirs.begin(), asked.dirs.end());
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
  char* const argv[] = {name, flag, nullptr};
  Launch launch;
  launch.path = "/proc/self/exe";
  launch.argv = argv;
  launch.envp = environ;  // contains the tags by which a sweep finds processes of the job
  launch.wdir = "/";
  launch.in = in.read.get();
  launch.out = theirs.get();
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

/// Returns false at the end of the reports.
bool WorkdirSetup::read_reports() {
  std::string packet(kLongest, '\0');
  for (;;) {
    std::vector<sys::Fd> fds;
    const ssize_t got = sys::receive_some(reports_->native_handle(), packet, fds);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    const std::string text = packet.substr(1, static_cast<size_t>(got) - 1);
    switch (static_cast<Report>(packet[0])) {
      case Report::at:
        at_ = text;
        break;
      case Report::failed:
        failure_text_ = text;
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
  return process + ": stays on this host until the disk of " + at_ + " answers";
}

bool WorkdirSetup::reaped(pid_t pid, int wait_status) {
  if (pid != pid_) return false;
  pid_ = 0;
  timer_.cancel();
  if (!reports_) return true;
  read_reports();
  const size_t newline = std::min(failure_text_.find('\n'), failure_text_.size());
  std::string why = failure_text_.substr(0, newline);
  std::string hint = failure_text_.substr(std::min(newline + 1, failure_text_.size()));
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
  reports_.reset();
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

/// A batch system signals all processes of the job. The agent reports the signal, and ends this process by KILL.
int prepare_main() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "dlaunch-files");
  Reporter reporter(STDOUT_FILENO);
  const auto done = work_off(STDIN_FILENO, Work(reporter));
  if (done) return 0;
  reporter.failed(done.error());
  return 1;
}

}  // namespace dlaunch::agent
