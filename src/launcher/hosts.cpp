#include "launcher/hosts.h"

#include <poll.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "sys/descendants.h"

namespace dlaunch::launcher {
namespace {

using Retry = transport::Disconnect::Retry;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{250};  // doubled at each attempt, and randomly varied by half
constexpr milliseconds kLongestPause{4000};
constexpr milliseconds kBootPause{1000};  // between attempts at a host that has not booted yet
constexpr int kTries = 8;                 // for an sshd that refuses connections
constexpr milliseconds kFlushWait{500};

/// The pause before the next attempt to connect to a host. Empty: no further attempt. The pause is random, so that
/// rejected hosts do not all reconnect at the same time.
std::optional<milliseconds> pause_before_next_try(const HostFailure& loss, int tries, Time wait_until) {
  milliseconds pause = kBootPause;
  if (loss.retry == Retry::soon && tries < kTries) {
    pause = std::min(kLongestPause, kFirstPause * (1 << (tries - 1)));
  } else if (loss.retry == Retry::never || Clock::now() + pause > wait_until) {
    return std::nullopt;
  }
  std::uniform_int_distribution<milliseconds::rep> around(pause.count() / 2, pause.count() * 3 / 2);
  std::random_device chance;
  return milliseconds(around(chance));
}

}  // namespace

struct Hosts::Slot {
  Slot(asio::io_context& io, int place, plan::Host its_host) : number(place), host(std::move(its_host)), again(io) {}

  int number;
  plan::Host host;
  State state = State::waiting;
  int tries = 0;
  bool gave_up = false;  // the agent of this attempt ended by itself, before it received Setup
  Time wait_until;
  std::unique_ptr<HostLink> link;
  asio::steady_timer again;
  wire::Hello hello;  // set once ready
  HostFailure loss;   // set once lost
  Time gone_by;       // set without a link
  const Lifetime lifetime;
};

Hosts::Hosts(asio::io_context& io, transport::Transport& transport, std::string job_id, const JobOptions& settings,
             spdlog::logger& log)
    : io_(io), transport_(transport), job_id_(std::move(job_id)), settings_(settings), log_(log) {}

Hosts::~Hosts() = default;

void Hosts::listen(Handlers handlers) {
  handlers_ = std::move(handlers);
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = *slots_[i];
    if (slot.state == State::ready) handlers_.ready(slot.number, slot.hello);
    if (slot.state == State::lost) handlers_.lost(slot.number, slot.loss);
  }
  if (ready_ == slots_.size()) report_duplicate_hosts();
}

void Hosts::open(const std::vector<plan::Host>& hosts) {
  for (const plan::Host& host : hosts) {
    slots_.push_back(std::make_unique<Slot>(io_, static_cast<int>(slots_.size()), host));
    slots_.back()->wait_until = std::chrono::steady_clock::now() + settings_.wait_hosts;
    queue_.push_back(slots_.back().get());
  }
  open_next();
}

void Hosts::keep(const std::vector<int>& hosts) {
  std::vector<std::unique_ptr<Slot>> kept;
  for (const int host : hosts) {
    kept.push_back(std::move(at_index(slots_, host)));
    kept.back()->number = static_cast<int>(kept.size()) - 1;
  }
  for (const auto& slot : slots_) {
    if (!slot) continue;
    opening_ended(*slot, State::dropped);
    if (slot->link) slot->link->close();
    std::erase(queue_, slot.get());
  }
  slots_ = std::move(kept);
  ready_ =
      static_cast<size_t>(std::ranges::count_if(slots_, [](const auto& slot) { return slot->state == State::ready; }));
}

void Hosts::open_next() {
  while (opening_ < settings_.hosts_at_once && !queue_.empty()) {
    Slot& slot = *queue_.front();
    queue_.pop_front();
    if (slot.state == State::waiting) open_one(slot);
  }
  transport_.open_together();
}

void Hosts::open_one(Slot& slot) {
  slot.state = State::opening;
  ++slot.tries;
  slot.gave_up = false;
  ++opening_;
  auto opened = transport_.open(slot.host);
  if (!opened) return failed(slot, {opened.error().what + ": " + opened.error().why, opened.error().hint});
  slot.link = std::make_unique<HostLink>(
      io_, std::move(*opened), settings_,
      HostLink::Handlers{
          [this, &slot](wire::Message&& m, std::deque<sys::Fd>& fds) { received(slot, std::move(m), fds); },
          [this, &slot](const HostFailure& loss) { failed(slot, loss); },
          [this, &slot](const std::string& text) { log_.info("{}: {}", slot.host.name, text); }});
  set_up(*slot.link);
}

/// Sends Setup at once, because the loop may not be running yet.
void Hosts::set_up(HostLink& link) const {
  wire::Setup setup;
  setup.job_id = job_id_;
  setup.heartbeat_ms = static_cast<std::uint32_t>(settings_.heartbeat.count());
  setup.grace_ms = static_cast<std::uint32_t>(settings_.policy.grace.count());
  setup.hand_over = link.passes_fds();
  setup.pause_limit_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(settings_.pause_limit.count(), 0, std::numeric_limits<std::uint32_t>::max()));
  link.send(setup);
  link.flush();
}

std::unique_ptr<HostLink> Hosts::open_again(int host, HostLink::Handlers handlers, std::string& why) {
  auto opened = transport_.open(at_index(slots_, host)->host);
  transport_.open_together();
  if (!opened) {
    why = opened.error().what + ": " + opened.error().why;
    return nullptr;
  }
  auto link = std::make_unique<HostLink>(io_, std::move(*opened), settings_, std::move(handlers));
  set_up(*link);
  return link;
}

void Hosts::opening_ended(Slot& slot, State next) {
  if (std::exchange(slot.state, next) != State::opening) return;
  --opening_;
  if (!queue_.empty()) asio::post(io_, lifetime_.guard([this] { open_next(); }));
}

void Hosts::received(Slot& slot, wire::Message&& message, std::deque<sys::Fd>& fds) {
  const auto* hello = std::get_if<wire::Hello>(&message);
  const bool greeted_before = slot.state != State::opening;
  const auto* log = std::get_if<wire::Log>(&message);
  if (!greeted_before && log && log->level == wire::Log::kNoSetup) slot.gave_up = true;
  if (hello && !greeted_before) return greeted(slot, *hello);
  if (hello || (!greeted_before && !log)) {
    return failed(slot, {"protocol error: unexpected message from the agent"});
  }
  handlers_.message(slot.number, std::move(message), fds);
}

void Hosts::greeted(Slot& slot, const wire::Hello& hello) {
  if (hello.version != wire::kVersion) {
    return failed(slot, {"protocol error: the agent has protocol version " + std::to_string(hello.version) +
                             ", expected " + std::to_string(wire::kVersion),
                         "remove agent= or --agent-path to use the agent of this dlaunch"});
  }
  log_.info("{}: agent is up, pid {} on {}", slot.host.name, hello.pid, hello.host);
  slot.hello = hello;
  opening_ended(slot, State::ready);
  if (++ready_ == slots_.size()) report_duplicate_hosts();
  handlers_.ready(slot.number, hello);
}

void Hosts::report_duplicate_hosts() {
  std::map<std::string, std::vector<std::string>> names;  // by identity
  for (const auto& slot : slots_) {
    if (!slot->hello.identity.empty()) names[slot->hello.identity].push_back(slot->host.name);
  }
  for (const auto& [identity, of_one] : names) {
    if (of_one.size() == 1 || !handlers_.report_duplicates || !reported_duplicates_.insert(identity).second) continue;
    log_.warn("{} are names of the same host; each name gets ranks", fold_names(of_one));
  }
}

void Hosts::failed(Slot& slot, HostFailure loss) {
  if (slot.state == State::dropped) return;
  if (slot.gave_up) loss.retry = transport::Disconnect::Retry::soon;  // this process was stopped during the login
  retire(slot);
  const auto pause =
      slot.state == State::opening ? pause_before_next_try(loss, slot.tries, slot.wait_until) : std::nullopt;
  if (!pause) {
    slot.loss = loss;
    opening_ended(slot, State::lost);
    return handlers_.lost(slot.number, slot.loss);
  }
  log_.info("{}: {}; next attempt in {} ms", slot.host.name, loss.why, pause->count());
  opening_ended(slot, State::pausing);
  slot.again.expires_after(*pause);
  slot.again.async_wait(slot.lifetime.guard([this, &slot](asio::error_code error) {
    if (error || slot.state != State::pausing) return;
    slot.state = State::waiting;
    queue_.push_back(&slot);
    open_next();
  }));
}

/// Destroys the link at the end of this turn of the loop, because the link may be the caller.
void Hosts::retire(Slot& slot) {
  if (!slot.link) return;
  slot.gone_by = slot.link->gone_by();
  auto link = std::move(slot.link);
  link->close();
  if (retired_.empty()) asio::post(io_, lifetime_.guard([this] { retired_.clear(); }));
  retired_.push_back(std::move(link));
}

bool Hosts::is_ready(int host) const { return at_index(slots_, host)->state == State::ready; }
bool Hosts::is_lost(int host) const {
  const State state = at_index(slots_, host)->state;
  return state == State::lost || state == State::dropped;
}
const plan::Host& Hosts::host_of(int host) const { return at_index(slots_, host)->host; }

bool Hosts::passes_fds(int host) const {
  const auto& link = at_index(slots_, host)->link;
  return link && link->passes_fds();
}

job::HostClock Hosts::clock(int host) const {
  const auto& link = at_index(slots_, host)->link;
  return link ? link->clock() : own_clock();
}

void Hosts::send(int host, const wire::Message& message) {
  if (const auto& link = at_index(slots_, host)->link) link->send(message);
}

void Hosts::answer(int host, const wire::Message& message) {
  if (const auto& link = at_index(slots_, host)->link) link->answer(message);
}

void Hosts::send_to_all(const wire::Message& message) {
  for (const auto& slot : slots_) {
    if (slot->link) slot->link->send(message);
  }
}

void Hosts::flush() {
  const auto deadline = std::chrono::steady_clock::now() + kFlushWait;
  for (;;) {
    std::vector<pollfd> full;
    for (const auto& slot : slots_) {
      if (const auto fd = slot->link ? slot->link->flush() : std::nullopt) full.push_back({*fd, POLLOUT, 0});
    }
    const int left = milliseconds_until(deadline);
    if (full.empty() || left == 0) break;
    ::poll(full.data(), full.size(), left);
  }
  for (const auto& slot : slots_) {
    if (slot->link) slot->link->pass_on_by(deadline);
  }
}

void Hosts::flush(int host) {
  if (const auto& link = at_index(slots_, host)->link) link->flush();
}

void Hosts::ping(int host) {
  if (const auto& link = at_index(slots_, host)->link) link->ping();
}

void Hosts::pause() {
  for (const auto& slot : slots_) {
    if (slot->link) slot->link->pause();
  }
  flush();
}

void Hosts::ping_all() {
  for (const auto& slot : slots_) {
    if (slot->link) slot->link->resumed();
  }
}

Time Hosts::answered(int host) const {
  const auto& link = at_index(slots_, host)->link;
  return link ? link->answered() : Time::min();
}

Time Hosts::gone_by(int host) const {
  const Slot& slot = *at_index(slots_, host);
  return slot.link ? slot.link->gone_by() : slot.gone_by;
}

void Hosts::lose(int host, const HostFailure& loss) { failed(*at_index(slots_, host), loss); }

transport::ReasonLine Hosts::manager_notice(int host) const {
  const auto& link = at_index(slots_, host)->link;
  return link ? link->manager_notice() : transport::ReasonLine();
}

void Hosts::reap() {
  sys::reap_all([this](int pid, int wait_status) { transport_.reaped(pid, wait_status); });
}

void Hosts::drop(int host) {
  Slot& slot = *at_index(slots_, host);
  opening_ended(slot, State::dropped);
  retire(slot);
}

void Hosts::close() {
  queue_.clear();
  for (const auto& slot : slots_) drop(slot->number);
}

}  // namespace dlaunch::launcher
