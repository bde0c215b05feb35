#include "world/world.h"

#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <utility>

#include "agent/agent.h"
#include "agent/guardian.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace sim {
namespace {

std::string name_of(const dlaunch::wire::Message& message) {
  return std::visit(
      []<class T>(const T&) -> std::string {
        const std::string text = __PRETTY_FUNCTION__;
        const std::string before = "T = dlaunch::wire::";
        const std::string name = text.substr(text.find(before) + before.size());
        return name.substr(0, name.find_first_of(";]"));
      },
      message);
}

/// More of a message for the trace.
std::string detail_of(const dlaunch::wire::Message& message) {
  namespace wire = dlaunch::wire;
  if (const auto* signal = std::get_if<wire::Signal>(&message)) return ' ' + std::to_string(signal->signal);
  if (const auto* finish = std::get_if<wire::Finish>(&message)) return finish->stay ? " stay" : "";
  if (const auto* spawn = std::get_if<wire::Spawn>(&message)) return " rank " + std::to_string(spawn->rank);
  return {};
}

/// The clock of a host by the seed: equal, close, or far.
Ns clock_offset(std::mt19937_64& random) {
  constexpr Ns kFar[] = {0, kMs, 2 * kMs, 50 * kMs, 500 * kMs};
  const Ns most = kFar[random() % std::size(kFar)];
  return most == 0 ? 0 : static_cast<Ns>(random() % static_cast<std::uint64_t>(2 * most)) - most;
}

}  // namespace

World::World(const Scenario& scenario, Ns bound)
    : scenario_(scenario),
      bound_(bound),
      random_(scenario.seed * 7919 + 13),
      hosts_([&] {
        std::vector<Host> hosts;
        for (int i = 0; i < scenario.all_hosts(); ++i) {
          hosts.push_back({.name = "n" + std::to_string(i), .clock_offset = clock_offset(random_)});
        }
        if (scenario.skew && hosts.size() > 1) hosts[1].clock_offset = -*scenario.skew;
        if (scenario.here) hosts[0].clock_offset = 0;
        return hosts;
      }()),
      faults_(*this) {}

World::~World() = default;

World& World::current() { return *static_cast<World*>(kernel()); }

Ns World::wall_offset() const {
  const Process* process = processes_.current();
  return process ? host(process->host).clock_offset : 0;
}

void World::say(const std::string& text) {
  trace_digest_.add(static_cast<std::uint64_t>(now_));
  trace_digest_.add(text);
  if (!trace_) return;
  char time[32];
  std::snprintf(time, sizeof time, "%10.4f  ", static_cast<double>(now_) / 1e9);
  trace_->push_back(time + text);
}

Ns World::latency() {
  const auto draw = [this](Ns least, Ns more) {
    return least + static_cast<Ns>(random_() % static_cast<std::uint64_t>(more));
  };
  switch (scenario_.seed % 5) {
    case 0:
      return draw(20'000, 10'000);
    case 1:
      return draw(5 * kMs, 15 * kMs);
    default:
      return draw(200'000, 800'000);
  }
}

/// By the default action at once, by a handler later.
Ns World::time_to_die() {
  switch (random_() % 8) {
    case 0:
      return std::min(2 * kSecond, scenario_.grace * 9 / 10) + 50'000;
    case 1:
    case 2:
    case 3:
      return 20 * kMs + static_cast<Ns>(random_() % 50'000'000);
    default:
      return 50'000;
  }
}

// ---- events ----

void World::on_host(int number, Ns time, std::function<void()> run) {
  at(time, [this, number, run = std::move(run)] {
    if (host(number).frozen) return host(number).deferred.push_back(run);
    run();
  });
}

void World::on_process(int pid, Ns time, std::function<void()> run) {
  const Process* process = processes_.find(pid);
  on_host(process->host, time, [this, pid, run = std::move(run)] {
    const Process* now = processes_.find(pid);
    if (!now->alive) return;
    if (now->stopped) return on_process(pid, now_ + 100 * kMs, run);
    run();
  });
}

void World::thaw(int number) {
  host(number).frozen = false;
  for (auto& run : std::exchange(host(number).deferred, {})) on_host(number, now_, std::move(run));
  network_.unblock(number);
  poke_agents(number);
}

/// Runs the next event, or lets the time pass up to `until`.
bool World::step(std::optional<Ns> until) {
  const auto next = events_.next();
  if (!next || (until && *next > *until)) {
    if (until) now_ = std::max(now_, *until);
    return false;
  }
  auto [time, run] = events_.take();
  now_ = std::max(now_, time);
  run();
  return true;
}

void World::wait(const std::function<bool()>& ready, std::optional<Ns> deadline) {
  if (Fiber* fiber = Fiber::current()) return fiber->wait(ready, deadline);
  network_.hear_launcher();
  read_output();
  for (;;) {
    exchange();
    if (launcher_until_ && now_ >= *launcher_until_) {
      launcher_until_.reset();
      say("launcher: continued");
      signal_launcher(SIGCONT);
    }
    if (!launcher_until_ && (std::exchange(launcher_poked_, false) || ready() || (deadline && now_ >= *deadline)))
      return;
    if (now_ > bound_) throw Hang("the job has not ended after " + seconds_text(now_ / kMs * kMs) + " s");
    std::optional<Ns> until = launcher_until_ ? launcher_until_ : deadline;
    if (const auto due = agents_deadline()) until = std::min(until.value_or(*due), *due);
    if (events_.empty() && !until) throw Hang("nothing more can happen");
    step(until);
  }
}

void World::settle(Ns time) {
  const Ns end = now_ + time;
  network_.hear_launcher();
  read_output();
  exchange();
  for (;;) {
    const auto due = agents_deadline();
    const bool early = due && *due < end;
    if (!step(early ? *due : end) && !early) return;
    exchange();
  }
}

void World::job_ended() {
  say("the job ends");
  launcher_there_ = false;
}

// ---- agents ----

void World::start_agent(Agent& agent, dlaunch::sys::Fd link) {
  say(host(agent.host).name + ": agent " + std::to_string(agent.id) + " starts");
  const auto worker = std::make_shared<int>(0);
  Process& guardian = processes_.start(Process::Kind::guardian, agent.host, agent.id, 0, [worker] {
    dlaunch::agent::JobDirectory files;
    dlaunch::agent::JobCgroup cgroup;
    dlaunch::agent::guard(*worker, true, files, cgroup);
  });
  agent.guardian = guardian.pid;
  const auto socket = std::make_shared<dlaunch::sys::Fd>(std::move(link));
  Process& process =
      processes_.start(Process::Kind::worker, agent.host, agent.id, guardian.pid, [pid = guardian.pid, socket] {
        asio::io_context io(1);
        dlaunch::agent::JobDirectory files;
        dlaunch::agent::JobCgroup cgroup;
        dlaunch::sys::Fd in = std::move(*socket);
        dlaunch::sys::Fd out(::dup(in.get()));
        dlaunch::agent::AgentTag tag;
        dlaunch::agent::Agent code(io, std::move(in), std::move(out), rlimit{1024, 1024}, files, cgroup, tag);
        code.run(pid);
      });
  agent.worker = *worker = process.pid;
}

void World::worker_ended(int number) { network_.worker_ended(*network_.agents()[static_cast<size_t>(number)]); }

/// A sweep of another agent of the host may wait for the process that changed.
void World::poke_agents(int number) {
  for (auto& agent : network_.agents()) {
    if (agent->host != number) continue;
    for (const int pid : {agent->guardian, agent->worker}) {
      if (Process* process = processes_.find(pid)) processes_.poke(*process);
    }
  }
}

std::optional<Ns> World::agents_deadline() const {
  std::optional<Ns> first;
  for (const auto& [pid, process] : processes_.all()) {
    if (!processes_.may_run(process)) continue;
    if (const auto due = process.fiber->deadline()) first = std::min(first.value_or(*due), *due);
  }
  return first;
}

/// Lets each agent run that has something to do. Returns whether any had.
bool World::run_agents() {
  bool any = false;
  for (size_t i = 0; i < network_.agents().size(); ++i) {
    Agent& agent = *network_.agents()[i];
    for (const int pid : {agent.worker, agent.guardian}) {
      Process* const process = processes_.find(pid);
      if (!process || !processes_.may_run(*process)) continue;
      const auto due = process->fiber->deadline();
      if (!process->poked && !(due && now_ >= *due)) continue;
      process->poked = process->fiber->is_runnable(now_);
      if (!process->poked) continue;
      any = true;
      processes_.run(*process);
      if (process->kind == Process::Kind::worker) network_.hear_agent(agent);
      if (process->fiber->ended()) processes_.end(*process, 0, Process::End::by_itself);
    }
  }
  return any;
}

void World::exchange() {
  while (run_agents()) {
  }
  network_.push();
}

// ---- the launcher ----

dlaunch::Result<dlaunch::transport::Connection> World::open(const dlaunch::plan::Host& wanted) {
  const auto found = std::ranges::find(hosts_, wanted.name, &Host::name);
  return network_.open(static_cast<int>(found - hosts_.begin()));
}

void World::launcher_sent(Agent& agent, const std::string& bytes) {
  agent.sent.feed(bytes);
  for (;;) {
    const auto message = agent.sent.next();
    if (!message || !*message) return;
    const std::string name = name_of(**message);
    if (name == "Ping" || name == "Credit" || name == "ReadClock") continue;
    say("launcher -> " + host(agent.host).name + ": " + name + detail_of(**message));
    tell([&](Observer& observer) { observer.sent(agent.host, **message); });
    faults_.sent(name);
  }
}

void World::launcher_heard(Agent& agent, const std::string& bytes) {
  agent.told.feed(bytes);
  for (;;) {
    const auto message = agent.told.next();
    if (!message || !*message) return;
    tell([&](Observer& observer) { observer.heard(agent.host, **message); });
  }
}

void World::printed(std::string_view lines) {
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    say("SAYS  " + std::string(lines.substr(at, end - at)));
    at = end + 1;
  }
  tell([&](Observer& observer) { observer.printed(lines); });
  faults_.printed(lines);
}

void World::signal_launcher(int signal) {
  say("launcher gets signal " + std::to_string(signal));
  tell([&](Observer& observer) { observer.launcher_signalled(signal); });
  for (SignalReceiver* receiver : receivers_) receiver->deliver(signal);
  launcher_poked_ = true;  // Asio does not wake a loop that posts to itself
}

void World::stop_launcher(Ns length) {
  say("launcher: stopped");
  launcher_until_ = std::max(launcher_until_.value_or(0), now_ + length);
  tell([&](Observer& observer) { observer.launcher_stopped(*launcher_until_); });
}

/// StopSelf: returns after SIGCONT.
void World::raised(int signal) {
  if (signal != SIGSTOP || Fiber::current()) return;
  stop_launcher(suspension_);
  wait([] { return true; }, {});
}

void World::type_into(dlaunch::sys::Fd keyboard) {
  keyboard_ = std::move(keyboard);
  type(0);
}

void World::type(int line) {
  constexpr int kLines = 20;
  if (!keyboard_) return;
  if (line == kLines) return keyboard_.reset();
  const std::string text = "input " + std::to_string(line) + '\n';
  if (::write(keyboard_.get(), text.data(), text.size()) > 0) typed_ += text;
  at(now_ + 150 * kMs, [this, line] { type(line + 1); });
}

void World::set_reading(bool reading) {
  reading_ = reading;
  read_output();
}

void World::read_output() {
  char bytes[1u << 14];
  while (reading_ && reader_fd_ >= 0) {
    const ssize_t n = ::read(reader_fd_, bytes, sizeof bytes);
    if (n <= 0) return;
    read_.append(bytes, static_cast<size_t>(n));
  }
}

void World::wrote(const Process& process, const std::string& text) {
  if (process.kind == Process::Kind::rank) written_[process.rank] += text;
}

}  // namespace sim
