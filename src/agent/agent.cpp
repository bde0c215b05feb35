#include "agent/agent.h"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <variant>

#include "agent/guardian.h"
#include "sys/clock.h"
#include "sys/descendants.h"

namespace dlaunch::agent {

Agent::Round::Round(Agent& agent)
    : reaper(agent.io_, agent.cgroup_, [this](int pid) { memory.reaped(pid); }),
      workdir_setup(agent.io_, agent.link_, agent.children_, agent.rank_dirs_, agent.setup_.job_id),
      mpi(agent.io_, agent.link_, agent.children_, agent.files_),
      ranks(agent.io_, agent.link_, agent.children_, mpi, agent.open_files_, agent.files_, agent.cgroup_,
            agent.rank_dirs_, [&agent] { return agent.watch_.may_start(); }) {}

Agent::Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup,
             AgentTag& tag)
    : io_(io),
      link_(io, std::move(in), std::move(out), wire::Sender::launcher),
      signals_(io),
      open_files_(open_files),
      files_(files),
      cgroup_(cgroup),
      tag_(tag),
      watch_(io, link_,
             {.beat =
                  [this] {
                    reap();  // in case asio's signal pipe lost a SIGCHLD
                    for (Task* const each : tasks()) each->tick();
                  },
              .lost = [this](const std::string& why, std::uint8_t level) { launcher_lost(why, level); }}),
      notices_(io, link_, watch_,
               {.lost = [this](const std::string& why) { launcher_lost(why); },
                .oom = [this] { return round_->ranks.oom(); }}),
      inspector_(io, link_, children_, open_files),
      command_runner_(io, link_, children_, open_files),
      stack_sampler_(io, link_, [this] { return round_->ranks.running(); }),
      round_(std::make_unique<Round>(*this)) {
  signals_.add(SIGCHLD);
  for (const int signal : kForwarded) {
    signals_.add(signal);
    signals_.add(forwarded(signal));
  }
}

std::array<Task*, 8> Agent::tasks() {
  Round& round = *round_;
  return {&watch_,       &inspector_, &command_runner_, &stack_sampler_, &round.workdir_setup,
          &round.memory, &round.mpi,  &round.ranks};
}

int Agent::run(pid_t guardian) {
  notices_.start(guardian);
  link_.start({[this](wire::Message&& message, std::deque<sys::Fd>&) { received(message); },
               [this](const std::string& why) { launcher_lost(why); }, [this] { round_->ranks.resume(); }});
  wait_signal();
  watch_.start();
  io_.run();
  return exit_code_;
}

// ---- messages of the launcher ----
void Agent::received(wire::Message& message) {
  watch_.heard();
  if (!std::holds_alternative<wire::Spawn>(message)) round_->ranks.start_prepared();
  if (std::holds_alternative<wire::Signal>(message)) reap();  // the signal did not end a rank that had ended before
  std::optional<std::string> wrong;
  for (Task* const each : tasks()) {
    if (!wrong) wrong = each->on(message);
  }
  if (!wrong) std::visit([this](auto& m) { on(m); }, message);
  if (wrong && !wrong->empty()) launcher_lost(*wrong);
  watch_.handled();
}

void Agent::on(wire::Setup& setup) {
  if (watch_.begun()) return launcher_lost("protocol error: unexpected message from the launcher");
  setup_ = std::move(setup);
  files_.belong_to(setup_.job_id);
  std::string host = host_identity();
  tag_.write(setup_.job_id, host);
  utsname names{};
  ::uname(&names);
  link_.send(wire::Hello{wire::kVersion, names.nodename, names.machine, static_cast<std::uint32_t>(::getpid()),
                         sys::wall_ns(), std::move(host)});
  if (setup_.version != wire::kVersion) return launcher_lost("the launcher has another protocol version");
  watch_.begin(setup_);
  link_.flush();
  if (setup_.hand_over) cgroup_.make(setup_.job_id);  // in parallel to the launcher's answer on another CPU
}

void Agent::on(const wire::Layout& layout) {
  cgroup_.make(setup_.job_id);
  round_->ranks.configure(layout, setup_.hand_over);
}

/// The ranks have the signal.
void Agent::on(const wire::Signal& signal) {
  if (signal.if_caught || signal.signal != SIGKILL) return;
  round_->killed = true;
  round_->reaper.hurry();
}

void Agent::on(const wire::Finish& finish) {
  stop_tasks();
  round_->reaper.start(grace(), [this, stay = finish.stay](std::vector<std::string> left) {
    for (std::string& process : left) process = round_->workdir_setup.explained(std::move(process));
    stay ? end_round(std::move(left)) : leave(std::move(left));
  });
}

/// This agent has started no process of the job, so its own children stay. A living agent locks the control group of
/// its ranks. Older agents must therefore end before this agent adopts the group.
void Agent::on(const wire::Sweep&) {
  round_->reaper.aim_at({marks_of_ranks(setup_.job_id), [this] { return tag_.older_agents(); },
                         [this] { cgroup_.adopt_left(setup_.job_id); }});
  round_->reaper.start(grace(), [this](std::vector<std::string> left) {
    for (std::string& path : files_.remove_left()) left.push_back(std::move(path));
    leave(std::move(left));
  });
}

void Agent::on(const wire::ReadClock&) {
  if (!clean_sent_) link_.send(wire::ClockReading{sys::wall_ns()});
}

// ---- processes ----
void Agent::wait_signal() {
  signals_.next([this](int signal) {
    signal == SIGCHLD ? reap() : notices_.received(signal);
    wait_signal();
  });
}

void Agent::reap() {
  for (int reaped = 0; reaped < sys::kMostReaped; ++reaped) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return round_->reaper.children_changed(pid < 0 && errno == ECHILD);
    if (WIFSTOPPED(wait_status)) continue;  // a rank that StackSampler's thread has stopped for a sample
    round_->memory.reaped(pid);
    children_.reaped(pid, wait_status);
  }
  asio::post(io_, [this] { reap(); });
}

// ---- ends ----
void Agent::stop_tasks() {
  for (Task* const each : tasks()) each->stop();
}

/// Removes the round's files and groups. Returns all remains of the round, for Clean.
std::vector<std::string> Agent::remove_files(std::vector<std::string> left) {
  round_->ranks.clear();
  for (std::string& path : files_.remove()) left.push_back(std::move(path));
  for (std::string& path : cgroup_.remove()) left.push_back(std::move(path));
  return left;
}

/// Destroys the old round at the end of this turn: its reaper is the caller.
void Agent::end_round(std::vector<std::string> left) {
  if (const auto text = text_of(round_->memory.remove()); !text.empty()) link_.send(wire::Log{.text = text});
  link_.send(wire::Clean{remove_files(std::move(left))});
  asio::post(io_, [old = std::exchange(round_, std::make_unique<Round>(*this))] {});
}

/// Clean is the last frame, sent after all queued frames. The agent exits after the launcher has read Clean and closed
/// the link: qrsh may lose bytes that the agent writes just before its end.
void Agent::leave(std::vector<std::string> left) {
  clean_sent_ = true;
  watch_.finish();
  notices_.finish();
  link_.send(wire::Clean{remove_files(std::move(left))});
  if (setup_.hand_over) link_.when_sent([this] { io_.stop(); });
}

/// Ends all processes of the job and removes its files without the launcher.
void Agent::launcher_lost(const std::string& why, std::uint8_t level) {
  if (clean_sent_) return io_.stop();
  if (std::exchange(lost_, true)) return;
  link_.send(wire::Log{level, "the agent ends its ranks: " + why});
  link_.flush();
  link_.close();
  watch_.give_up();
  notices_.stop();
  round_->ranks.discard();
  stop_tasks();
  exit_code_ = EXIT_FAILURE;
  round_->reaper.start(watch_.left_of(grace()), [this](const std::vector<std::string>&) {
    files_.remove();
    cgroup_.remove();
    io_.stop();
  });
}

}  // namespace dlaunch::agent
