#include "agent/reaper.h"

#include <algorithm>
#include <csignal>
#include <set>

namespace dlaunch::agent {
namespace {

constexpr const char* kUnseen = "processes that /proc does not show";

}  // namespace

std::string unseen_note() {
  if (sys::proc_shows_own_pids()) return {};
  return "/proc does not show the processes of this pid namespace, so dlaunch cannot end daemons of ranks and shows no "
         "stacks; mount /proc: mount -t proc proc /proc";
}

void Reaper::start(std::chrono::milliseconds grace, std::function<void(std::vector<std::string>)> done,
                   std::chrono::seconds kill_wait) {
  done_ = std::move(done);
  if (std::exchange(running_, true)) return;
  kill_at_ = Clock::now() + grace;
  kill_wait_ = kill_wait;
  agents_by_ = Clock::now() + kAgentsWait;
  step();
}

void Reaper::hurry() { kill_at_ = std::min(kill_at_, Clock::now()); }

void Reaper::children_changed(bool none_left) {
  if (running_ && none_left && target_.entries.empty()) finish({});
}

std::vector<sys::Process> Reaper::found() const {
  if (target_.entries.empty()) return sys::descendants();
  auto found = sys::processes_with(target_.entries);
  found.insert(found.end(), agents_.begin(), agents_.end());
  std::set<int> pids;
  for (const sys::Process& process : found) pids.insert(process.pid);
  for (sys::Process& process : cgroup_.processes()) {
    if (pids.insert(process.pid).second) found.push_back(std::move(process));
  }
  return found;
}

/// Returns false while an older agent lives and may still end.
bool Reaper::end_agents(Clock::time_point now) {
  const auto is_same = [](const sys::Process& one) {
    return [&one](const sys::Process& other) { return other.pid == one.pid && other.start_time == one.start_time; };
  };
  bool any = false;
  for (sys::Process& agent : target_.agents ? target_.agents() : std::vector<sys::Process>()) {
    any = true;  // also if this agent ends at once: its fork may have appeared during the search
    sys::signal_process(agent, SIGKILL);
    if (std::ranges::none_of(agents_, is_same(agent))) agents_.push_back(std::move(agent));
  }
  std::erase_if(agents_, [&](const sys::Process& agent) {
    const auto still = sys::find_process(agent.pid);
    return !still || !is_same(agent)(*still) || still->state == 'Z' || still->state == 'X';
  });
  if ((any || (target_.agents && !agents_.empty())) && now < agents_by_) return false;
  target_.agents = {};
  if (const auto ended = std::exchange(target_.agents_ended, {})) ended();
  return true;
}

void Reaper::step() {
  const bool own_children = target_.entries.empty();
  const auto reaped = [this](int pid, int) {
    if (reaped_) reaped_(pid);
  };
  if (own_children && sys::reap_all(reaped)) return finish({});
  if (!own_children && !own_pids_) {
    cgroup_.kill();
    return finish({kUnseen});
  }
  const auto now = Clock::now();
  if (!end_agents(now)) return poll();
  const bool kill = now >= kill_at_;
  if (kill) cgroup_.kill();
  if (kill && !killed_at_) killed_at_ = now;
  const auto found = this->found();
  if (!own_children && found.empty()) return finish({});
  std::vector<std::string> left;
  for (const sys::Process& process : found) {
    if (kill) sys::signal_process(process, SIGKILL);
    if (!kill && !termed_) {
      sys::signal_process(process, SIGTERM);
      sys::signal_process(process, SIGCONT);
    }
    left.push_back(sys::describe(process));
  }
  termed_ = true;
  if (killed_at_ && now >= *killed_at_ + kill_wait_) {
    if (left.empty() && !own_pids_) left.push_back(kUnseen);
    return finish(std::move(left));
  }
  poll();
}

void Reaper::poll() {
  timer_.expires_after(kSweepPoll);
  timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error && running_) step();
  }));
}

void Reaper::finish(std::vector<std::string> left) {
  running_ = false;
  timer_.cancel();
  if (left.size() > kMostNamed) {
    left.back() = std::to_string(left.size() - kMostNamed) + " more processes";
    left.erase(left.begin() + kMostNamed, left.end() - 1);
  }
  const auto done = std::exchange(done_, {});
  if (done) done(std::move(left));
}

}  // namespace dlaunch::agent
