#include "agent/launcher_watch.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>
#include <variant>

#include "link/heartbeat.h"
#include "link/timer.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kShortestBeat{10};
constexpr std::chrono::seconds kSetupWait{15};
constexpr char kNoAnswer[] = "the launcher did not answer in time";

}  // namespace

LauncherWatch::LauncherWatch(asio::io_context& io, link::Link& link, Handlers handlers)
    : io_(io), link_(link), handlers_(std::move(handlers)), timer_(io), lease_timer_(io) {}

void LauncherWatch::start() {
  timer_.expires_after(kSetupWait);
  timer_.async_wait([this](asio::error_code error) {
    if (link::is_due(error, timer_)) handlers_.lost("the launcher sent no heartbeat", wire::Log::kNoSetup);
  });
}

void LauncherWatch::begin(const wire::Setup& setup) {
  heartbeat_ = std::max(kShortestBeat, std::chrono::milliseconds(setup.heartbeat_ms));
  lease_.emplace(heartbeat_, std::chrono::milliseconds(setup.pause_limit_ms), Clock::now());
  beat();
  watch_lease();
}

void LauncherWatch::heard() {
  if (lease_) lease_->heard(Clock::now());
}

/// The end of an announced pause, and Layout, end the lease earlier.
void LauncherWatch::handled() {
  if (lease_ && lease_->end() < lease_timer_.expiry()) watch_lease();
}

std::optional<std::string> LauncherWatch::on(wire::Message& message) {
  if (!lease_) return std::nullopt;
  if (const auto* layout = std::get_if<wire::Layout>(&message)) {
    lease_->set_length(std::chrono::milliseconds(layout->lease_ms));
  } else if (std::holds_alternative<wire::Pause>(message)) {
    lease_->pause(Clock::now());
  } else if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    const bool asks = lease_->asks(*ping);
    lease_->answered(*ping);
    if (asks && !finishing_) link_.send(lease_->next_ping(Clock::now()));
  }
  return std::nullopt;
}

bool LauncherWatch::may_start() {
  if (link_.peer_ended()) return false;
  if (!lease_ || !lease_->over(Clock::now())) return true;
  asio::post(io_, [this] { handlers_.lost(kNoAnswer, wire::Log::kError); });
  return false;
}

std::chrono::milliseconds LauncherWatch::left_of(std::chrono::milliseconds grace) const {
  if (!lease_) return grace;
  const auto left = lease_->end() + grace - Clock::now();
  return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0), grace);
}

void LauncherWatch::give_up() {
  stopped_ = true;
  timer_.cancel();
  lease_timer_.cancel();
}

void LauncherWatch::beat() {
  timer_.expires_after(heartbeat_);
  timer_.async_wait([this](asio::error_code error) {
    if (!link::is_due(error, timer_)) return;
    const auto now = Clock::now();
    const bool silent = lease_->silent_since(now - link::Heartbeat::kMisses * heartbeat_) || lease_->over(now);
    if (finishing_ && silent) return io_.stop();
    if (!finishing_) link_.send(lease_->next_ping(now));
    handlers_.beat();
    beat();
  });
}

void LauncherWatch::watch_lease() {
  lease_timer_.expires_at(lease_->end());
  lease_timer_.async_wait([this](asio::error_code error) {
    if (!error) judge();
  });
}

/// Reads all bytes that wait before the launcher is lost: an answer may be among them if this process was stopped.
void LauncherWatch::judge() {
  if (stopped_ || finishing_) return;  // after Clean, beat() awaits the end of the link
  if (!lease_->over(Clock::now())) return watch_lease();
  if (!link_.readable()) return handlers_.lost(kNoAnswer, wire::Log::kError);
  asio::post(io_, [this] { judge(); });
}

}  // namespace dlaunch::agent
