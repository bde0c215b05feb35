#include "report/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/exit_status.h"

namespace dlaunch::report {
namespace {

using Phase = JobStatus::Phase;

constexpr char kClearLine[] = "\r\x1b[K";
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

std::string running_text(const job::Reached& reached, const Worlds& worlds) {
  std::string text = "running: progress " + std::to_string(reached.least);
  if (reached.least == reached.most) return text;
  return text + " (rank " + worlds.name(reached.last) + ") to " + std::to_string(reached.most);
}

/// Whether there is no line to show.
bool is_empty(const JobStatus& status) { return status.phase == Phase::running && !status.reached; }

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

std::string status_text(const JobStatus& status, Time now) {
  switch (status.phase) {
    case Phase::running:
      return status.reached ? running_text(*status.reached, status.worlds) : "";
    case Phase::starting:
      return starting_text(status, now);
    case Phase::ending:
      return status.waiting.empty() ? std::string("ending") : ending_text(status, now);
  }
  return {};
}

StatusLine::StatusLine(output::StandardStreams& streams)
    : streams_(streams), fd_(streams.fd(output::Stream::err)), terminal_(::isatty(fd_) == 1) {
  streams_.before_showing([this] { clear(); });
}

StatusLine::~StatusLine() {
  clear();
  streams_.before_showing({});
}

void StatusLine::update(JobStatus status, Time now) {
  if (!terminal_ || status == status_) return;
  if (status.phase != status_.phase || is_empty(status)) {
    clear();
    due_ = now + kPatience;
  } else if (!shown_.empty()) {
    due_ = std::min(due_, now + kBetween);
  }
  status_ = std::move(status);
  tick(now);
}

std::optional<Time> StatusLine::deadline() const {
  if (!terminal_ || is_empty(status_)) return std::nullopt;
  return due_;
}

void StatusLine::tick(Time now) {
  if (!terminal_ || is_empty(status_) || now < due_) return;
  due_ = now + kCountdown;
  std::string text = printable(status_text(status_, now));
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, columns() - 1))));  // the last column would wrap
  if (text == shown_ || !may_draw()) return;
  streams_.overlay(kClearLine + text);
  shown_ = std::move(text);
}

void StatusLine::clear() {
  if (shown_.empty()) return;
  shown_.clear();
  if (in_foreground()) streams_.overlay(kClearLine);
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
