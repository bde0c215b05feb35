#include "chaos/run/chaos_job.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/try.h"
#include "chaos/fault.h"
#include "chaos/run/injector.h"
#include "chaos/run/links.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/record.h"
#include "sys/caught_signals.h"
#include "sys/child.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::chaos {
namespace {

/// The record of a job under dlaunch chaos. The launcher writes it when all ranks of a round have started and at the
/// end of the job; it is read after each write. Owned by ChaosJob.
class WatchedRecord {
 public:
  /// Only the directory must exist. Throws std::system_error if the kernel cannot watch the directory.
  explicit WatchedRecord(std::string path);

  int fd() const { return watch_.get(); }
  /// Call when fd() is readable. Returns true after a write of a valid record.
  bool read();
  /// The last valid record.
  const std::optional<report::Record>& last() const { return last_; }

 private:
  const std::string path_;
  sys::Fd watch_;
  std::optional<report::Record> last_;
};

WatchedRecord::WatchedRecord(std::string path)
    : path_(std::move(path)), watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  const auto directory = std::filesystem::path(path_).parent_path();
  if (!watch_ || ::inotify_add_watch(watch_.get(), directory.c_str(), IN_MOVED_TO) < 0) sys::throw_errno("inotify");
}

bool WatchedRecord::read() {
  const std::string name = std::filesystem::path(path_).filename();
  bool written = false;
  alignas(inotify_event) char events[4096];
  for (ssize_t size = 0; (size = ::read(watch_.get(), events, sizeof events)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
      if (event->len > 0 && name == event->name) written = true;
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  }
  const auto text = written ? sys::read_file(path_) : std::nullopt;
  auto record = text ? report::read_record(*text, path_) : fail({});
  if (!record) return false;
  last_ = *std::move(record);
  return true;
}

/// Forwards the job's stdout to ours, and reports each line. Never takes more than our reader. Owned by ChaosJob.
class LinePipe {
 public:
  using OnLine = std::function<void(std::string_view)>;

  LinePipe(sys::Fd from, int to, OnLine on_line) : from_(std::move(from)), to_(to), on_line_(std::move(on_line)) {}

  /// For poll; -1: not now.
  int reads() const { return waiting_.empty() && !ended_ ? from_.get() : -1; }
  int writes() const { return waiting_.empty() ? -1 : to_; }
  void read();
  void write();
  /// The job's end of the pipe is closed, and every byte was forwarded.
  bool is_over() const { return ended_ && waiting_.empty(); }

 private:
  void split(std::string_view bytes);

  sys::Fd from_;
  const int to_;
  const OnLine on_line_;
  std::string waiting_;
  std::string line_;  // start of an unfinished line
  bool ended_ = false;
};

constexpr size_t kAtOnce = 64U << 10U;
constexpr size_t kLongestKept = 4096;  // limit of a line; further bytes are passed on without a search

void LinePipe::read() {
  char bytes[kAtOnce];
  const ssize_t size = ::read(from_.get(), bytes, sizeof bytes);
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) {
    ended_ = true;
    if (!line_.empty()) on_line_(line_);
    return line_.clear();
  }
  waiting_.assign(bytes, static_cast<size_t>(size));
  split(waiting_);
}

/// A writable pipe takes PIPE_BUF bytes without a wait. A missing reader is not an error.
void LinePipe::write() {
  const ssize_t size = ::write(to_, waiting_.data(), std::min<size_t>(waiting_.size(), PIPE_BUF));
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  waiting_.erase(0, size < 0 ? waiting_.size() : static_cast<size_t>(size));
}

void LinePipe::split(std::string_view bytes) {
  for (size_t end = 0; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    line_.append(bytes.substr(0, std::min(end, kLongestKept)));
    on_line_(line_);
    line_.clear();
  }
  if (line_.size() < kLongestKept) line_.append(bytes.substr(0, kLongestKept));
}

constexpr int kDrainMs = 1000;  // for bytes that a killed launcher has left in the pipe
constexpr int kNotFound = 127;

constexpr const char* kLinks = "/links";  // a unix socket in the directory of the job

Result<std::string> make_directory() {
  const auto refused = [](std::string what, std::string why, std::string hint) {
    return fail({.where = "TMPDIR", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
  };
  std::error_code failed;
  const std::string parent = std::filesystem::temp_directory_path(failed).string();
  if (failed) {
    return refused("cannot use the directory for temporary files", failed.message(),
                   "set TMPDIR to a writable directory");
  }
  std::string path = parent + "/dlaunch-chaos-XXXXXX";
  const size_t most = sizeof sockaddr_un::sun_path - 1 - (path.size() - parent.size()) - std::strlen(kLinks);
  if (parent.size() > most) {
    return refused("the path has " + std::to_string(parent.size()) + " bytes, but a unix socket allows at most " +
                       std::to_string(most),
                   "", "set TMPDIR to a shorter path, for example /tmp");
  }
  if (::mkdtemp(path.data())) return path;
  return refused("cannot create " + path, std::strerror(errno), "set TMPDIR to a writable directory");
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// --link-proxy and --report precede the words of the user.
std::vector<std::string> launcher_words(const ChaosSetup& setup, const std::string& directory) {
  std::vector<std::string> words = {"dlaunch"};
  if (setup.record.empty()) words.insert(words.end(), {"--report", directory + "/record"});
  if (setup.proxies) {
    words.insert(words.end(), {"--link-proxy",
                               shell_quote(own_path()) + " chaos link " + shell_quote(directory + kLinks) + " {host}"});
  }
  words.insert(words.end(), setup.words.begin(), setup.words.end());
  return words;
}

/// The maximum size of the launcher's files; 0: no limit.
long long full_at(const std::vector<Fault>& faults) {
  const auto fault = std::ranges::find(faults, FaultKind::full, &Fault::what);
  return fault == faults.end() ? 0 : fault->bytes;
}

[[noreturn]] void become_launcher(const std::vector<std::string>& words, int out, const sigset_t& mask,
                                  long long full) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (full > 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(full);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);  // a write fails with EFBIG
  }
  ::dup2(out, STDOUT_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(kNotFound);
}

class ChaosJob {
 public:
  ChaosJob(const ChaosSetup& setup, const std::string& directory, sys::CaughtSignals& signals,
           const std::function<void(const std::string&)>& tell)
      : setup_(setup),
        signals_(signals),
        tell_(tell),
        undo_(directory),
        record_(setup.record.empty() ? directory + "/record" : setup.record),
        links_(setup.proxies ? std::make_unique<Links>(directory + kLinks) : nullptr),
        schedule_(setup.faults) {
    for (const Fault& fault : setup.faults) injections_.push_back({.fault = fault});
    start(launcher_words(setup, directory));
    injector_ = std::make_unique<Injector>(pid_, links_.get(), undo_, setup.seed);
  }

  ChaosOutcome run() {
    while (!ended_) turn();
    drain();
    record_read();
    injector_->end_all();
    return outcome();
  }

 private:
  void start(const std::vector<std::string>& words) {
    sys::Pipe out = sys::make_pipe();
    if (!out.write) sys::throw_errno("pipe");
    pid_ = ::fork();
    if (pid_ < 0) sys::throw_errno("fork");
    if (pid_ == 0) become_launcher(words, out.write.get(), signals_.mask_before(), full_at(setup_.faults));
    launcher_ = sys::open_pidfd(pid_);
    if (!launcher_) sys::throw_errno("pidfd_open");
    out_ = std::make_unique<LinePipe>(std::move(out.read), STDOUT_FILENO,
                                      [this](std::string_view line) { schedule_.line(line, Clock::now()); });
  }

  void turn() {
    std::vector<pollfd> fds = {{launcher_.get(), POLLIN, 0},
                               {signals_.fd(), POLLIN, 0},
                               {record_.fd(), POLLIN, 0},
                               {out_->reads(), POLLIN, 0},
                               {out_->writes(), POLLOUT, 0}};
    const size_t first_link = fds.size();
    if (links_) {
      for (const int fd : links_->fds()) fds.push_back({fd, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), wait_ms());
    if (fds[1].revents != 0) pass_signal();
    for (size_t i = first_link; i < fds.size(); ++i) {
      if (fds[i].revents != 0) links_->ready(fds[i].fd);
    }
    if (fds[2].revents != 0) record_read();
    if (fds[3].revents != 0) out_->read();
    if (fds[4].revents != 0) out_->write();
    if (fds[0].revents != 0) return reap();
    do_what_is_due();
  }

  int wait_ms() const {
    const auto next = schedule_.next();
    if (!next) return -1;
    return static_cast<int>(std::max<long>(0, std::chrono::ceil<Milliseconds>(*next - Clock::now()).count()));
  }

  /// The launcher also received the signal of a terminal.
  void pass_signal() {
    const auto signal = signals_.next();
    if (signal && !signal->from_kernel) ::kill(pid_, signal->number);
  }

  void record_read() {
    if (!record_.read()) return;
    const report::Record& record = *record_.last();
    if (record.end_ns != 0) return;
    round_ = static_cast<int>(record.earlier_rounds.size());
    const Time now = Clock::now();
    if (!origin_) origin_ = now;
    schedule_.round_began(round_, now);
  }

  void reap() {
    int wait_status = 0;
    if (::waitpid(pid_, &wait_status, 0) != pid_) return;
    ended_ = true;
    seen_.exit_code = ExitStatus::from_wait(wait_status).shell_code();
  }

  void do_what_is_due() {
    if (!record_.last()) return;
    for (const Schedule::Due& due : schedule_.due(Clock::now())) due.ends ? end(due.fault) : begin(due.fault);
  }

  void begin(size_t number) {
    Injection& injection = injections_[number];
    if (!injector_->begin(number, injection, *record_.last())) return schedule_.missed(number);
    const Time now = Clock::now();
    schedule_.begun(number, now);
    injection.fired = true;
    injection.at_s = std::chrono::duration<double>(now - *origin_).count();
    injection.round = round_;
    say(injection, to_text(injection.fault));
  }

  void end(size_t number) {
    schedule_.ended(number);
    injector_->end(number, injections_[number]);
    say(injections_[number], "undone: " + to_text(injections_[number].fault));
  }

  void say(const Injection& injection, const std::string& what) const {
    char time[32];
    std::snprintf(time, sizeof time, "%.3f s", std::chrono::duration<double>(Clock::now() - *origin_).count());
    std::string pids;
    for (const int pid : injection.pids) pids += (pids.empty() ? "pid " : ", ") + std::to_string(pid);
    std::string where = injection.host.empty() ? "" : "host " + injection.host + ", ";
    if (injection.fault.target.kind == FaultTarget::Kind::interface) where = to_words(injection.fault.target);
    tell_(std::string(time) + ": " + what + " (" + where + pids + ")");
  }

  void drain() {
    const Time until = Clock::now() + Milliseconds(kDrainMs);
    while (!out_->is_over() && Clock::now() < until) {
      pollfd fds[] = {{out_->reads(), POLLIN, 0}, {out_->writes(), POLLOUT, 0}};
      ::poll(fds, 2, kDrainMs);
      if (fds[0].revents != 0) out_->read();
      if (fds[1].revents != 0) out_->write();
    }
  }

  ChaosOutcome outcome() {
    const auto& record = record_.last();
    if (record && record->end_ns != 0) {
      seen_.recorded_code = record->outcome.exit_code;
      seen_.restarts_allowed = record->restarts;
      for (const auto& round : record->earlier_rounds)
        seen_.rounds.push_back({round.cause, round.first_failure, round.text});
      const auto& last = record->outcome;
      seen_.rounds.push_back({last.cause, last.first_failure, last.detail});
    }
    for (Injection& each : injections_) settle(each);
    if (record) seen_.left = left_of(record->job_id);
    return {injections_, seen_, std::chrono::duration<double>(Clock::now() - start_).count()};
  }

  /// A full file fires when the job writes enough bytes; other faults have their own reason for not firing.
  void settle(Injection& injection) const {
    if (injection.fault.what == FaultKind::full && !seen_.rounds.empty()) {
      injection.fired = seen_.rounds.back().cause == job::Cause::output_failed;
      injection.round = static_cast<int>(seen_.rounds.size()) - 1;
      injection.why_not = "no output file reached this size";
    }
    if (injection.fired) injection.why_not.clear();
    if (!injection.fired && injection.why_not.empty()) {
      injection.why_not = injection.fault.when.line.empty()
                              ? "the job ended before this moment"
                              : "the job ended before its stdout contained a matching line";
    }
  }

  const ChaosSetup& setup_;
  sys::CaughtSignals& signals_;
  const std::function<void(const std::string&)>& tell_;
  const Time start_ = Clock::now();
  Undo undo_;
  WatchedRecord record_;
  std::unique_ptr<Links> links_;
  Schedule schedule_;
  std::vector<Injection> injections_;
  pid_t pid_ = 0;
  sys::Fd launcher_;  // a pidfd
  std::unique_ptr<LinePipe> out_;
  std::unique_ptr<Injector> injector_;
  std::optional<Time> origin_;  // time at which all ranks of the first round ran
  int round_ = 0;
  bool ended_ = false;
  Seen seen_;
};

}  // namespace

Result<ChaosOutcome> run_chaos_job(const ChaosSetup& setup, sys::CaughtSignals& signals,
                                   const std::function<void(const std::string&)>& tell) {
  const std::string directory = TRY(make_directory());
  return ChaosJob(setup, directory, signals, tell).run();
}

}  // namespace dlaunch::chaos
