#include "launcher/host_link.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <limits>
#include <utility>

#include "job/job.h"
#include "link/heartbeat.h"
#include "link/timer.h"
#include "place/line_meaning.h"
#include "sys/clock.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

using Retry = transport::Disconnect::Retry;

constexpr std::chrono::milliseconds kLastLineWait{100};
constexpr size_t kMostAnswers = 12u << 20;  // bytes of answers that an agent has not read

constexpr size_t kReadSize = 4096;

constexpr std::int64_t kLastTime = std::int64_t{1} << 62;  // in the year 2116; sums with other times do not overflow

std::int64_t nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration).count(); }

}  // namespace

HostLink::HostLink(asio::io_context& io, transport::Connection opened, const JobOptions& settings, Handlers handlers)
    : io_(io),
      passes_fds_(opened.passes_fds),
      ready_wait_(settings.ready_wait),
      ready_by_(io, [this] { lose(no_answer()); }),
      timer_(io),
      silence_timer_(io),
      heartbeat_(settings.heartbeat, Clock::now()),
      pause_limit_(std::max(settings.pause_limit, settings.heartbeat * link::Lease::kBeats)),
      grace_(settings.policy.grace),
      lease_(pause_limit_),
      ping_received_(Clock::now()),
      lease_renewed_(ping_received_),
      losing_(io),
      disconnect_(std::move(opened.disconnect)),
      passed_on_by_(std::move(opened.passed_on_by)),
      handlers_(std::move(handlers)) {
  if (opened.errors) {
    errors_.emplace(io, std::move(opened.errors), [this](const std::string& line) { handlers_.detail(line); });
  }
  wait_ready();
  if (!opened.bootstrap) {
    const bool connects_to_us = !passes_fds_ && passed_on_by_;
    if (connects_to_us) first_answer_by_ = std::chrono::steady_clock::now() + ready_wait_;
    connect(std::move(opened.stream), {});
    return;
  }
  bootstrap_.emplace(
      io, std::move(opened.stream), opened.agent_path,
      BootstrapStream::Handlers{[this](sys::Fd stream, const std::string& rest) { connect(std::move(stream), rest); },
                                [this](const std::string& why) { lose({why}); },
                                [this](const std::string& why) { ended({why, "", Retry::when_up}); },
                                [this](const std::string& noise) { handlers_.detail("the shell printed: " + noise); },
                                [this] { wait_ready(); }});
}

void HostLink::connect(sys::Fd stream, const std::string& first) {
  link_.emplace(io_, std::move(stream), wire::Sender::agent);
  link_->start({[this](wire::Message&& message, std::deque<sys::Fd>& fds) { received(std::move(message), fds); },
                [this](const std::string& why) { ended({"lost the connection to the agent: " + why}); },
                {}},
               first);
  for (const wire::Message& message : std::exchange(early_, {})) link_->send(message);
  ready_by_.set({});
  heartbeat_.heard(Clock::now());
  if (!passes_fds_) clock_.asked(std::chrono::steady_clock::now());  // Setup is the first question
  beat();
  watch();
}

void HostLink::received(wire::Message&& message, std::deque<sys::Fd>& fds) {
  const auto now = std::chrono::steady_clock::now();
  heartbeat_.heard(now);
  if (!std::exchange(answered_, true)) {
    if (errors_) errors_->forget();
    if (first_answer_by_) watch();  // from now on the heartbeats count
  }
  if (const auto* reading = std::get_if<wire::ClockReading>(&message)) return clock_.answered(reading->time_ns, now);
  if (const auto* hello = std::get_if<wire::Hello>(&message)) {
    clock_.answered(hello->time_ns, now);
    read_clock();
    ping_received_ = lease_renewed_ = std::max(lease_renewed_, now);  // the agent's lease has begun
  }
  if (const auto* ping = std::get_if<wire::Ping>(&message); ping && !pinged(*ping, now)) {
    return lose({"the agent does not answer"});
  }
  handlers_.message(std::move(message), fds);
}

void HostLink::read_clock() {
  if (passes_fds_ || clock_.awaits_answer()) return;
  link_->send(wire::ReadClock{});
  clock_.asked(std::chrono::steady_clock::now());
}

job::HostClock HostLink::clock() const {
  return passes_fds_ ? own_clock() : clock_.at(std::chrono::steady_clock::now());
}

bool HostLink::pinged(const wire::Ping& ping, Time now) {
  ping_received_ = now;
  const bool answers = pings_.received(ping);
  if (answers) {  // then the agent's lease ends at least one length after the agent's answer
    link_->send(pings_.acknowledgement());
    lease_renewed_ = std::max(lease_renewed_, ping_received_);
  }
  // Own Pings that are still in the queue cannot be answered.
  unanswering_ = answers || link_->waiting() > 0 ? 0 : unanswering_ + 1;
  // The agent's wait was reduced to one lease before this answer.
  if (pause_over_ && pings_.answered() >= *pause_over_) pause_over_.reset();
  const auto asked = pings_.oldest_unanswered();
  // After a stop of this process, Pings from the time before the stop are read first.
  return !asked || unanswering_ < link::Heartbeat::kMisses ||
         now - std::max(*asked, resumed_at_) < heartbeat_.interval() * link::Heartbeat::kMisses;
}

void HostLink::ping() {
  if (!link_) return;
  link_->send(pings_.next(Clock::now()));
  lease_renewed_ = std::max(lease_renewed_, ping_received_);
}

Time HostLink::gone_by() const {
  const auto paused = pause_over_ ? pause_limit_ + lease_ : std::chrono::milliseconds(0);
  return lease_renewed_ + lease_ + paused + grace_ + job::kKillWait;
}

void HostLink::note_lease(const wire::Message& message) {
  if (const auto* layout = std::get_if<wire::Layout>(&message)) {
    lease_ = layout->lease_ms == 0 ? pause_limit_ : std::chrono::milliseconds(layout->lease_ms);
  }
}

void HostLink::send(const wire::Message& message) {
  note_lease(message);
  if (link_) {
    link_->send(message);
  } else {
    early_.push_back(message);
  }
}

void HostLink::answer(const wire::Message& message) {
  if (!link_ || overflowed_) return;
  const size_t before = link_->waiting();
  if (before == 0) answers_ = 0;
  link_->send(message);
  if (link_->waiting() > before) answers_ += link_->waiting() - before;
  overflowed_ = std::min(answers_, link_->waiting()) > kMostAnswers;
  if (!overflowed_) return;
  losing_.expires_after(std::chrono::seconds(0));  // not from within send(): its callers expect no callback
  losing_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) lose({"the agent stopped reading: too many unread answers"});
  }));
}

std::optional<int> HostLink::flush() {
  if (!link_) return std::nullopt;
  link_->flush();
  return link_->blocked_on();
}

void HostLink::pass_on_by(std::chrono::steady_clock::time_point deadline) {
  if (link_ && passed_on_by_) passed_on_by_(deadline);
}

void HostLink::pause() {
  send(wire::Pause{});
  pause_over_ = pings_.number() + 1;
}

void HostLink::resumed() {
  if (!link_) return wait_ready();
  if (ended_) return;
  const auto now = Clock::now();
  heartbeat_.heard(now);
  unanswering_ = 0;
  resumed_at_ = now;
  if (first_answer_by_) first_answer_by_ = now + ready_wait_;
  ping();
  beat();
  watch();
}

void HostLink::wait_ready() { ready_by_.set(Clock::now() + ready_wait_); }

HostFailure HostLink::no_answer() const {
  const auto seconds = std::chrono::round<std::chrono::seconds>(ready_wait_).count();
  return {"timed out after " + std::to_string(seconds) + " s waiting for the agent", "", Retry::when_up};
}

void HostLink::beat() {
  timer_.expires_after(heartbeat_.interval());
  timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!link::is_due(error, timer_)) return;
    ping();
    read_clock();
    beat();
  }));
}

void HostLink::watch() {
  const bool connecting = first_answer_by_ && !answered_;
  silence_timer_.expires_at(connecting ? *first_answer_by_ : heartbeat_.deadline());
  silence_timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) judge();
  }));
}

/// Reads all bytes that wait before the host is lost: this process may have been stopped.
void HostLink::judge() {
  if (ended_) return;
  const auto now = Clock::now();
  const bool connecting = first_answer_by_ && !answered_;
  if (now < (connecting ? *first_answer_by_ : heartbeat_.deadline())) return watch();
  if (link_->readable()) return asio::post(io_, lifetime_.guard([this] { judge(); }));
  if (connecting) return lose(no_answer());
  if (heartbeat_.dead(now)) return lose({"the agent stopped sending heartbeats"});
  watch();
}

void HostLink::ended(HostFailure loss) {
  const transport::Disconnect way = disconnect_ ? disconnect_() : transport::Disconnect{};
  loss.nothing_left = way.nothing_left;
  if (loss.retry == Retry::never) loss.retry = way.retry;
  if (way.what.empty()) return answered_ && errors_ ? lose_soon(std::move(loss)) : lose(std::move(loss));
  loss = {way.why.empty() ? way.what : way.what + ": " + way.why, way.hint, way.retry, way.nothing_left};
  if (const auto line = manager_notice(); !line.text.empty()) {
    loss.why += ": " + line.text;
    if (place::is_order(line.meaning)) loss.ordered = line;
  }
  close();
  handlers_.lost(loss);
}

void HostLink::lose_soon(HostFailure loss) {
  ended_ = true;
  link_->close();
  silence_timer_.cancel();
  timer_.expires_after(kLastLineWait);
  timer_.async_wait(lifetime_.guard([this, loss = std::move(loss)](asio::error_code error) {
    if (!error) lose(loss);
  }));
}

void HostLink::lose(HostFailure loss) {
  if (const auto line = errors_ ? errors_->last_line() : transport::ReasonLine(); !line.text.empty()) {
    loss.why += ": " + line.text;
    if (!link_ && transport::is_dropped_login(line.text)) loss.retry = Retry::soon;
    if (loss.hint.empty()) loss.hint = place::hint_about(line.text);
    loss.nothing_left = place::leaves_nothing(line.meaning);
    if (place::is_order(line.meaning)) loss.ordered = line;
  }
  close();
  handlers_.lost(loss);
}

transport::ReasonLine HostLink::manager_notice() {
  auto line = errors_ ? errors_->last_line() : transport::ReasonLine();
  return place::ends_step(line.meaning) ? line : transport::ReasonLine();
}

void HostLink::close() {
  lifetime_.end();
  ready_by_.set({});
  timer_.cancel();
  silence_timer_.cancel();
  losing_.cancel();
  if (link_) link_->close();
  bootstrap_.reset();
  errors_.reset();
}

class ErrorTail::Impl : public std::enable_shared_from_this<ErrorTail::Impl> {
 public:
  Impl(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> on_line)
      : fd_(io), on_line_(std::move(on_line)) {
    sys::set_nonblocking(fd.get());
    fd_.assign(fd.release());
  }

  void wait() {
    fd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](asio::error_code error) {
      if (!error && self->fd_.is_open() && self->read()) self->wait();
    });
  }

  /// Returns false at the end of the file.
  bool read() {
    std::array<char, kReadSize> buffer;
    for (;;) {
      const ssize_t got = ::read(fd_.native_handle(), buffer.data(), buffer.size());
      if (got == 0) return false;
      if (got < 0) return true;
      lines_.take({buffer.data(), static_cast<size_t>(got)}, sys::wall_ns(), on_line_);
    }
  }

  transport::ReasonLine last_line() {
    if (fd_.is_open()) read();
    return lines_.last();
  }

  void forget() {
    if (fd_.is_open()) read();
    lines_.forget();
  }

  void close() {
    asio::error_code ignored;
    fd_.close(ignored);
    on_line_ = {};
  }

 private:
  asio::posix::stream_descriptor fd_;
  std::function<void(const std::string&)> on_line_;
  transport::ReasonLines lines_;
};

ErrorTail::ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string&)> on_line)
    : impl_(std::make_shared<Impl>(io, std::move(fd), std::move(on_line))) {
  impl_->wait();
}
ErrorTail::~ErrorTail() { impl_->close(); }
transport::ReasonLine ErrorTail::last_line() { return impl_->last_line(); }
void ErrorTail::forget() { impl_->forget(); }

void ClockReadings::answered(std::int64_t host_ns, Time now) {
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  const Duration half = (now - *asked) / 2;
  const std::int64_t here = nanoseconds((*asked + half).time_since_epoch());
  const job::HostClock clock{std::clamp<std::int64_t>(host_ns, 0, kLastTime) - here, nanoseconds(half)};
  std::erase_if(readings_, [&](const Reading& old) {
    const std::int64_t change = old.clock.offset_ns - clock.offset_ns;
    return std::max(change, -change) > aged(old, now).error_ns + clock.error_ns;
  });
  if (readings_.size() == kKept) readings_.pop_front();
  readings_.push_back({now, clock});
}

job::HostClock ClockReadings::at(Time now) const {
  if (readings_.empty()) return {0, std::numeric_limits<std::int64_t>::max()};
  const auto error = [&](const Reading& reading) { return aged(reading, now).error_ns; };
  return aged(*std::ranges::min_element(readings_, {}, error), now);
}

job::HostClock ClockReadings::aged(const Reading& reading, Time now) {
  return {reading.clock.offset_ns, reading.clock.error_ns + nanoseconds(now - reading.time) / kDrift};
}

job::HostClock own_clock() {
  ClockReadings readings;
  readings.asked(Clock::now());
  const std::int64_t time = sys::wall_ns();
  const Time now = Clock::now();
  readings.answered(time, now);
  return readings.at(now);
}

}  // namespace dlaunch::launcher
