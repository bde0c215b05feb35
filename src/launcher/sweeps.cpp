#include "launcher/sweeps.h"

#include <asio/post.hpp>
#include <utility>

#include "launcher/components.h"
#include "launcher/waits.h"
#include "link/timer.h"

namespace dlaunch::launcher {

struct Sweeps::Sweep {
  Sweep(asio::io_context& io, std::function<void()> late) : pause(io), watch(io, kPause), limit(io, std::move(late)) {}

  asio::steady_timer pause;
  asio::steady_timer watch;  // if late, this process was stopped
  Deadline limit;
  std::string why_late;
  std::unique_ptr<HostLink> link;
  bool answered = false;  // by an agent
  Time reach_until = Clock::now() + kReach;
};

Sweeps::Sweeps(asio::io_context& io, Hosts& hosts, const JobOptions& settings,
               std::function<void(const job::Event&)> happened)
    : io_(io), hosts_(hosts), settings_(settings), happened_(std::move(happened)) {}

Sweeps::~Sweeps() = default;

void Sweeps::begin(int host) {
  queue_.push_back(host);
  begin_next();
}

void Sweeps::begin_next() {
  while (!queue_.empty() && sweeps_.size() < static_cast<size_t>(settings_.hosts_at_once)) {
    const int host = queue_.front();
    queue_.pop_front();
    sweeps_[host] = std::make_shared<Sweep>(io_, [this, host] { timed_out(host); });
    watch(host);
    attempt(host);
  }
}

/// Extends the time for the attempts by the time during which this process was stopped.
void Sweeps::watch(int host) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  asio::steady_timer& timer = found->second->watch;
  const Duration late = Clock::now() - timer.expiry();
  if (late > Deadline::kLate) {
    found->second->reach_until += late + kPause;
    asio::post(io_, lifetime_.guard([this] { happened_(job::SweepDelayed{}); }));
  }
  timer.expires_after(kPause);
  timer.async_wait(lifetime_.guard([this, host, watched = std::weak_ptr(found->second)](asio::error_code error) {
    const auto sweep = watched.lock();
    if (sweep && link::is_due(error, sweep->watch)) watch(host);
  }));
}

void Sweeps::attempt(int host) {
  Sweep& sweep = *sweeps_.at(host);
  std::string why;
  sweep.answered = false;
  sweep.link = hosts_.open_again(
      host,
      {[this, host](wire::Message&& message, std::deque<sys::Fd>&) { received(host, message); },
       [this, host](const HostFailure& loss) { loss.nothing_left ? end(host, "", {}, true) : failed(host, loss.why); },
       [](const std::string&) {}},
      why);
  if (!sweep.link) return end(host, why, {});
  sweep.link->send(wire::Sweep{});
  limit(host, sweep.reach_until, "timed out after " + std::to_string(kReach.count()) + " s waiting for the agent");
}

void Sweeps::failed(int host, const std::string& why) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  Sweep& sweep = *found->second;
  watch(host);
  if (Clock::now() + kPause >= sweep.reach_until) return end(host, why, {});
  sweep.link->close();
  sweep.limit.set({});
  sweep.pause.expires_after(kPause);
  sweep.pause.async_wait(lifetime_.guard([this, host, again = std::weak_ptr(found->second)](asio::error_code error) {
    const auto still = sweeps_.find(host);
    if (error || still == sweeps_.end() || still->second != again.lock()) return;
    watch(host);
    attempt(host);
  }));
}

void Sweeps::timed_out(int host) {
  Sweep& sweep = *sweeps_.at(host);
  watch(host);
  if (sweep.answered || Clock::now() >= sweep.reach_until) return end(host, sweep.why_late, {});
  limit(host, sweep.reach_until, sweep.why_late);
}

void Sweeps::received(int host, const wire::Message& message) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  if (std::holds_alternative<wire::Hello>(message)) {
    found->second->answered = true;
    const auto wait = settings_.policy.grace + kEnd;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    limit(host, Clock::now() + wait,
          "timed out after " + std::to_string(seconds) + " s waiting for the agent's cleanup");
  } else if (const auto* clean = std::get_if<wire::Clean>(&message)) {
    end(host, "", clean->left);
  } else if (std::holds_alternative<wire::TerminationNotice>(message) && found->second->link) {
    found->second->link->ping();  // without an answer, the agent ends this link
  }
}

void Sweeps::limit(int host, Time until, const std::string& why) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  found->second->why_late = why;
  found->second->limit.set(until);
}

/// Posts the report and the removal of the sweep to the loop: the caller may be the link, or Job, which starts sweeps
/// inside a call.
void Sweeps::end(int host, std::string unreached, std::vector<std::string> left, bool by_manager) {
  const auto found = sweeps_.find(host);
  if (found == sweeps_.end()) return;
  const auto sweep = found->second;
  if (sweep->link) sweep->link->close();
  sweep->pause.cancel();
  sweep->watch.cancel();
  sweep->limit.set({});
  const job::HostSwept result{host, std::move(unreached), std::move(left), by_manager};
  asio::post(io_, lifetime_.guard([this, sweep, result] {
    const auto still = sweeps_.find(result.host);
    if (still == sweeps_.end() || still->second != sweep) return;
    sweeps_.erase(still);
    begin_next();
    happened_(result);
  }));
}

void Sweeps::drop(int host) {
  sweeps_.erase(host);
  std::erase(queue_, host);
}

namespace {

class SweepsComponent final : public Component {
 public:
  explicit SweepsComponent(const Context& context)
      : sweeps_(context.io, context.hosts, context.options, context.happened) {}

  void perform(const job::Action& action) override {
    if (const auto* sweep = std::get_if<job::SweepHost>(&action)) sweeps_.begin(sweep->host);
    if (const auto* drop = std::get_if<job::DropHost>(&action)) sweeps_.drop(drop->host);
  }

 private:
  Sweeps sweeps_;
};

}  // namespace

std::unique_ptr<Component> make_sweeps(const Context& context) { return std::make_unique<SweepsComponent>(context); }

}  // namespace dlaunch::launcher
