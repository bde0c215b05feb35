#include "launcher/survey.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "sys/clock.h"
#include "sys/signals.h"

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::milliseconds kProgressTick{200};
constexpr std::uint32_t kMostSlots = 1'000'000;  // whatever an agent says

}  // namespace

Survey::Survey(asio::io_context& io, Hosts& hosts, Question question, Progress progress, Inquiry inquiry)
    : io_(io),
      hosts_(hosts),
      question_(std::move(question)),
      progress_(std::move(progress)),
      inquiry_(std::move(inquiry)),
      signals_(io),
      progress_timer_(io) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) {
    if (!sys::is_ignored(signal)) signals_.add(signal);
  }
}

Survey::Result Survey::run(const std::vector<plan::Host>& hosts) {
  for (const plan::Host& host : hosts) names_.push_back(host.name);
  result_.hosts.resize(hosts.size());
  settled_.resize(hosts.size());
  asked_ns_.resize(hosts.size());
  waiting_ = hosts.size();
  wait_signal();
  hosts_.listen(
      {[this](int host, const wire::Hello& hello) { ready(host, hello); },
       [this](int host, const Loss& loss) { lost(host, loss); },
       [this](int host, const wire::Message& message, const std::deque<sys::Fd>&) { received(host, message); },
       {}});
  if (hosts_.empty()) hosts_.open(hosts);
  show_progress();
  if (waiting_ > 0) io_.run();
  running_.reset();
  signals_.cancel();
  progress_timer_.cancel();
  io_.restart();  // it was stopped: whoever runs it next starts afresh
  return std::move(result_);
}

void Survey::ready(int host, const wire::Hello& hello) {
  result_.hosts[static_cast<size_t>(host)].hello = hello;
  auto question = question_(host);
  if (!question) return inquire(host);
  question->names.clear();  // these take a while, and would spoil the round trip
  ask(host, *std::move(question));
}

void Survey::ask(int host, wire::Survey survey) {
  asked_ns_[static_cast<size_t>(host)] = sys::wall_ns();
  hosts_.send(host, survey);
}

void Survey::lost(int host, const Loss& loss) {
  result_.hosts[static_cast<size_t>(host)].loss = loss;
  answered(host);
}

void Survey::received(int host, const wire::Message& message) {
  if (settled_[static_cast<size_t>(host)]) return;
  Surveyed& known = result_.hosts[static_cast<size_t>(host)];
  if (const auto* told = std::get_if<wire::Told>(&message)) {
    known.told = *told;
    return answered(host);
  }
  const auto* facts = std::get_if<wire::Facts>(&message);
  if (!facts) return;
  const bool first = !known.facts;
  known.facts = *facts;
  if (!first) return inquire(host);
  const std::int64_t sent = asked_ns_[static_cast<size_t>(host)];
  const std::int64_t half = (sys::wall_ns() - sent) / 2;
  known.clock_offset_ns = facts->time_ns - (sent + half);
  known.clock_error_ns = half;
  auto question = question_(host);
  if (!question || question->names.empty()) return inquire(host);
  ask(host, *std::move(question));
}

void Survey::inquire(int host) {
  const auto inquire = inquiry_ ? inquiry_(host, result_.hosts[static_cast<size_t>(host)]) : std::nullopt;
  if (!inquire) return answered(host);
  hosts_.send(host, *inquire);
}

void Survey::answered(int host) {
  if (settled_[static_cast<size_t>(host)]) return;
  settled_[static_cast<size_t>(host)] = true;
  if (--waiting_ == 0) io_.stop();
}

void Survey::wait_signal() {
  signals_.async_wait([this, running = std::weak_ptr<void>(running_)](asio::error_code error, int signal) {
    if (error || running.expired()) return;
    if (signal != SIGTSTP) {
      result_.signal = signal;
      return io_.stop();
    }
    stop_and_continue();
    wait_signal();
  });
}

/// Ctrl-Z: the agents must not take our silence for our end.
void Survey::stop_and_continue() {
  hosts_.send_to_all(wire::Pause{});
  hosts_.flush();
  ::raise(SIGSTOP);
  hosts_.resumed();
}

void Survey::show_progress() {
  if (!progress_) return;
  std::vector<std::string> missing;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!settled_[i]) missing.push_back(names_[i]);
  }
  progress_(missing);
  progress_timer_.expires_after(kProgressTick);
  progress_timer_.async_wait([this, running = std::weak_ptr<void>(running_)](asio::error_code error) {
    if (!error && !running.expired()) show_progress();
  });
}

plan::DeviceKind device_kind(const wire::Facts& facts) {
  return facts.device_kind > static_cast<std::uint8_t>(plan::DeviceKind::amd)
             ? plan::DeviceKind::none
             : static_cast<plan::DeviceKind>(facts.device_kind);
}

void fill_slots(plan::Host& host, const wire::Facts& facts) {
  if (!host.slots_unknown) return;
  host.slots_unknown = false;
  host.slots = static_cast<int>(std::min(facts.cpus, kMostSlots));
  host.slots_from = facts.cpus_from + " there";
  if (host.devices.empty() && !facts.devices.empty()) {
    host.device_kind = device_kind(facts);
    host.devices.assign(facts.devices.begin(), facts.devices.end());
    host.devices_from = facts.devices_from + " there";
  }
  if (!host.devices.empty()) {
    host.slots = static_cast<int>(host.devices.size());
    host.slots_from = host.devices_from;
  }
  if (host.max_slots) host.slots = std::min(host.slots, *host.max_slots);
}

}  // namespace dlaunch::launcher
