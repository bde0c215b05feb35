#include "report/status_line.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/exit_status.h"
#include "report/lines.h"

namespace dlaunch::report {
namespace {

using Phase = JobStatus::Phase;

constexpr char kErase[] = "\x1b[J";  // the rest of the cursor's line and the lines below
/// Scrolls if the cursor is on the last line, stores the cursor's place, and begins the next line.
constexpr char kBegin[] = "\x1b[J\x1b\x44\x1b[A\x1b\x37\x1b\x45";
constexpr char kEnd[] = "\x1b\x38";  // back to the stored place
constexpr int kUsualColumns = 80;
constexpr std::chrono::seconds kCountdown{1};  // between redraws if only the time changes

/// The remaining time: "4 s".
std::string seconds_to(Time time, Time now) {
  return std::to_string(std::max<long>(0, std::chrono::ceil<std::chrono::seconds>(time - now).count())) + " s";
}

std::string starting_text(const JobStatus& status, Time now) {
  const std::string remark = status.remark.empty() ? "" : " (" + status.remark + ')';
  if (!status.missing.empty()) return "starting: waiting for " + status.missing + remark;
  if (status.start_at && now < *status.start_at) {
    return "starting: round " + std::to_string(status.round) + " in " + seconds_to(*status.start_at, now);
  }
  return "starting: " + std::to_string(status.started) + " of " + std::to_string(status.total) + " ranks" + remark;
}

/// "00:41", "1:02:03"
std::string clock_text(Duration elapsed) {
  const auto all = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  char text[32];
  const long hours = all / 3600, minutes = all / 60 % 60, seconds = all % 60;
  const int length = hours > 0 ? std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", hours, minutes, seconds)
                               : std::snprintf(text, sizeof text, "%02ld:%02ld", minutes, seconds);
  return {text, static_cast<size_t>(length)};
}

/// "3.1 MB/s"; empty below 1 kB/s.
std::string rate_text(double rate) {
  constexpr std::array kUnits = {"kB/s", "MB/s", "GB/s"};
  rate /= 1000;
  if (rate < 1) return {};
  size_t unit = 0;
  for (; rate >= 1000 && unit + 1 < kUnits.size(); ++unit) rate /= 1000;
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.1f %s", rate, kUnits[unit]);
  return {text, static_cast<size_t>(length)};
}

std::string progress_text(const job::Reached& reached, const Worlds& worlds) {
  std::string text = "progress " + std::to_string(reached.least);
  if (reached.least == reached.most) return text;
  return text + " (rank " + worlds.name(reached.last) + ") to " + std::to_string(reached.most);
}

std::string running_text(const JobStatus& status, Time now, double rate) {
  std::string text = std::to_string(status.live) + '/' + std::to_string(status.total) + " running";
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += " · " + part;
  };
  if (status.since) add(clock_text(now - *status.since));
  if (status.round > 0) add("round " + std::to_string(status.round + 1));
  if (status.hosts > 1) add(count(static_cast<size_t>(status.hosts), "host"));
  if (status.reached) add(progress_text(*status.reached, status.worlds));
  add(rate_text(rate));
  return text;
}

bool is_pipe(int fd) {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

/// Whether there is no line to show.
bool is_empty(const JobStatus& status) {
  return status.phase == Phase::running && status.live == 0 && !status.disk_waits && status.bars.empty();
}

std::string short_name(int signal) {
  const std::string name = signal_name(signal);
  return name.starts_with("SIG") ? name.substr(3) : name;
}

std::string ending_text(const JobStatus& status, Time now) {
  const size_t n = status.waiting.size();
  std::string sent = "KILL sent";
  if (status.kill_at) {
    sent = short_name(status.signal) + " sent, KILL in " + seconds_to(*status.kill_at, now);
  }
  return "ending: waiting for " + std::to_string(n) + (n == 1 ? " rank (" : " ranks (") + sent +
         "): " + status.worlds.fold(status.waiting);
}

}  // namespace

std::string status_text(const JobStatus& status, Time now, double rate) {
  if (is_empty(status)) return {};
  const bool ended = status.phase != Phase::starting && status.live == 0 && status.waiting.empty();
  if (ended && status.disk_waits) return "ending: waiting for a disk to accept the output";
  switch (status.phase) {
    case Phase::running:
      return status.bars.empty() ? running_text(status, now, rate) : status.bars;
    case Phase::starting:
      return starting_text(status, now);
    case Phase::ending:
      return status.waiting.empty() ? std::string("ending") : ending_text(status, now);
  }
  return {};
}

double Rate::at(std::uint64_t count, Time now) {
  constexpr std::chrono::seconds kWindow{1};
  if (!newer_ || now - newer_->at >= kWindow) {
    older_ = newer_;
    newer_ = Mark{now, count};
  }
  if (!older_ || now <= older_->at) return 0;
  return static_cast<double>(count - older_->count) / std::chrono::duration<double>(now - older_->at).count();
}

StatusLine::StatusLine(output::StandardStreams& streams, const StatusSettings& settings)
    : streams_(streams),
      fd_(streams.fd(output::Stream::err)),
      terminal_(settings.drawn && ::isatty(fd_) == 1),
      quiet_(settings.quiet),
      to_pipe_(is_pipe(streams.fd(output::Stream::out))) {
  streams_.before_showing([this] { clear(); });
}

StatusLine::~StatusLine() {
  clear();
  streams_.before_showing({});
}

void StatusLine::update(JobStatus status, Time now) {
  if (!terminal_) return;
  if (to_pipe_ && status.phase == Phase::running && !status.reached) status.live = 0;
  if (status.phase != status_.phase || is_empty(status) || status.bars.empty() != status_.bars.empty()) {
    clear();
    due_ = now + kPatience;
  } else if (!shown_.empty() && (status.phase != Phase::running || status.reached != status_.reached)) {
    due_ = std::min(due_, now + kBetween);
  }
  if (status.phase == Phase::running && !status.bars.empty()) due_ = std::min(due_, drawn_ + kBetweenBars);
  status_ = std::move(status);
  tick(now);
}

std::optional<Time> StatusLine::deadline() const {
  if (!terminal_ || is_empty(status_)) return std::nullopt;
  return due_;
}

/// The line about running ranks without progress numbers must not flicker between two lines of output.
Time StatusLine::earliest(Time now) {
  const std::uint64_t written = streams_.writer(output::Stream::err).written();
  if (std::exchange(written_, written) != written) quiet_since_ = now;
  const bool waits = status_.phase == Phase::running && !status_.reached && status_.bars.empty();
  return waits ? std::max(due_, std::max(quiet_since_, status_.since.value_or(now)) + quiet_) : due_;
}

void StatusLine::tick(Time now) {
  if (!terminal_ || is_empty(status_)) return;
  const double rate = rate_.at(status_.bytes, now);
  due_ = earliest(now);
  if (now < due_) return;
  due_ = drawn_ = now;
  due_ += kCountdown;
  // A text in the last column would wrap.
  std::string text = printable(status_text(status_, now, rate));
  std::ranges::replace(text, '\t', ' ');  // a tab has a width that depends on its place
  text = cut_to(text, static_cast<size_t>(std::max(1, columns() - 1)));
  if (text == shown_ || !may_draw()) return;
  streams_.overlay(kBegin + text + kEnd);
  written_ = streams_.writer(output::Stream::err).written();
  shown_ = std::move(text);
}

void StatusLine::clear() {
  if (shown_.empty()) return;
  shown_.clear();
  if (!in_foreground()) return;
  streams_.overlay(kErase);
  written_ = streams_.writer(output::Stream::err).written();
}

/// False after a rank's unfinished line (maybe a prompt). False in the background: the terminal could stop dlaunch
/// (TOSTOP).
bool StatusLine::may_draw() const {
  const output::FdWriter& writer = streams_.writer(output::Stream::err);
  return writer.pending() == 0 && !writer.mid_line() && in_foreground();
}

bool StatusLine::in_foreground() const {
  const pid_t foreground = ::tcgetpgrp(fd_);
  return foreground < 0 || foreground == ::getpgrp();
}

int StatusLine::columns() const {
  winsize size{};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

}  // namespace dlaunch::report
