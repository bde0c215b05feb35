#include "launcher/sweeps.h"

#include <asio/post.hpp>
#include <utility>

namespace dlaunch::launcher {

struct Sweeps::Sweep {
  explicit Sweep(asio::io_context& io) : timer(io) {}

  asio::steady_timer timer;
  std::unique_ptr<HostLink> link;
};

Sweeps::Sweeps(asio::io_context& io, Hosts& hosts, const JobOptions& settings,
               std::function<void(const job::HostSwept&)> swept)
    : io_(io), hosts_(hosts), settings_(settings), swept_(std::move(swept)) {}

Sweeps::~Sweeps() = default;

void Sweeps::begin(int host) {
  queue_.push_back(host);
  begin_next();
}

void Sweeps::begin_next() {
  while (!queue_.empty() && sweeps_.size() < static_cast<size_t>(settings_.hosts_at_once)) {
    const int host = queue_.front();
    queue_.pop_front();
    open(host);
  }
}

void Sweeps::open(int host) {
  auto& sweep = sweeps_[host] = std::make_shared<Sweep>(io_);
  std::string why;
  sweep->link = hosts_.open_again(
      host,
      {[this, host](wire::Message&& message, std::deque<sys::Fd>&) { received(host, message); },
       [this, host](const HostFailure& loss) { end(host, loss.nothing_left ? "" : loss.why, {}, loss.nothing_left); },
       [](const std::string&) {}},
      why);
  if (!sweep->link) return end(host, why, {});
  sweep->link->send(wire::Sweep{});
  limit(host, kReach, "timed out after " + std::to_string(kReach.count()) + " s waiting for the agent");
}

void Sweeps::received(int host, const wire::Message& message) {
  if (std::holds_alternative<wire::Hello>(message)) {
    const auto wait = settings_.policy.grace + kEnd;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    limit(host, wait, "timed out after " + std::to_string(seconds) + " s waiting for the agent's cleanup");
  } else if (const auto* clean = std::get_if<wire::Clean>(&message)) {
    end(host, "", clean->left);
  }
}

void Sweeps::limit(int host, std::chrono::milliseconds limit, const std::string& why) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  found->second->timer.expires_after(limit);
  found->second->timer.async_wait(lifetime_.guard([this, host, why](asio::error_code error) {
    if (!error) end(host, why, {});
  }));
}

/// Posted to the loop, because the link may be the caller, and Job starts sweeps from within a call.
void Sweeps::end(int host, std::string unreached, std::vector<std::string> left, bool by_manager) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  const auto sweep = found->second;
  if (sweep->link) sweep->link->close();
  sweep->timer.cancel();
  const job::HostSwept result{host, std::move(unreached), std::move(left), by_manager};
  asio::post(io_, lifetime_.guard([this, sweep, result] {
    const auto still = sweeps_.find(result.host);
    if (still == sweeps_.end() || still->second != sweep) return;
    sweeps_.erase(still);
    begin_next();
    swept_(result);
  }));
}

void Sweeps::drop(int host) {
  sweeps_.erase(host);
  std::erase(queue_, host);
}

}  // namespace dlaunch::launcher
