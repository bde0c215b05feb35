#include "world/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string_view>
#include <utility>

#include "sys/io.h"
#include "world/world.h"

namespace sim {

namespace sys = dlaunch::sys;

namespace {

bool is_ending(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT; }

sys::Fd copy_of(int fd) {
  sys::Fd copy(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (copy) sys::set_nonblocking(copy.get());
  return copy;
}

}  // namespace

Processes::~Processes() {
  for (auto& [pid, process] : all_) {
    Process* const before = std::exchange(current_, &process);
    process.fiber.reset();
    current_ = before;
  }
}

Process* Processes::find(int pid) {
  const auto found = all_.find(pid);
  return found == all_.end() ? nullptr : &found->second;
}

Process& Processes::add(Process::Kind kind, int host, int agent, int parent) {
  const int pid = next_pid_++;
  Process& process = all_[pid];
  process.pid = pid;
  process.parent = parent;
  process.kind = kind;
  process.host = host;
  process.agent = agent;
  process.round = world_.round();
  process.began = world_.now();
  return process;
}

Process& Processes::start(Process::Kind kind, int host, int agent, int parent, std::function<void()> run) {
  Process& process = add(kind, host, agent, parent);
  process.fiber = std::make_unique<Fiber>(std::move(run));
  return process;
}

Process& Processes::start_rank(Process& worker, int rank, int in, int out, int err, int mpi) {
  Process& process = add(Process::Kind::rank, worker.host, worker.agent, worker.pid);
  const int pid = process.pid;
  process.rank = rank;
  process.in = copy_of(in);
  process.out = copy_of(out);
  process.err = copy_of(err);
  process.mpi = copy_of(mpi);
  world_.say(world_.host(process.host).name + ": rank " + std::to_string(rank) + " begins, pid " + std::to_string(pid));
  world_.tell([&](Observer& observer) { observer.began(process); });
  const Scenario& s = world_.scenario();
  const bool fails = s.bug && rank == (process.round * 7 + static_cast<int>(s.seed)) % s.all_ranks();
  const Ns life = (s.bug ? kSecond : s.length) + static_cast<Ns>(world_.random() % 1'000'000'000u);
  world_.on_host(process.host, world_.now() + 100 * kMs, [this, pid] { write_line(pid); });
  if (process.in && s.stdin_) world_.on_host(process.host, world_.now() + 50 * kMs, [this, pid] { read_input(pid); });
  if (rank == 0 && process.mpi) world_.on_host(process.host, world_.now() + kSecond, [this, pid] { call_mpi(pid); });
  if (s.bug && !fails) return process;
  world_.on_process(pid, world_.now() + life, [this, pid, fails] { end_by_itself(pid, fails ? 7 << 8 : 0); });
  return process;
}

/// MPI_Init, MPI_Comm_spawn and MPI_Finalize, as lines of PMI-1. Each waits for the answer to the one before.
void Processes::call_mpi(int pid) {
  const std::array<std::string, 3> requests = {
      "cmd=init pmi_version=1 pmi_subversion=1\n",
      "mcmd=spawn\nnprocs=" + std::to_string(world_.scenario().spawn) +
          "\nexecname=/bin/true\ntotspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=0\ninfo_num=0\nendcmd\n",
      "cmd=finalize\n"};
  Process& process = all_.at(pid);
  if (!process.alive || !process.mpi || process.aborted) return;
  world_.on_host(process.host, world_.now() + 200 * kMs, [this, pid] { call_mpi(pid); });
  if (process.stopped) return;
  char answer[1024];
  const ssize_t n = process.mpi_calls > 0 ? ::read(process.mpi.get(), answer, sizeof answer) : 0;
  if (process.mpi_calls > 0 && n <= 0) return;
  if (std::string_view(answer, static_cast<size_t>(n)).starts_with("cmd=spawn_result rc=0 ")) process.spawned = true;
  if (process.mpi_calls == static_cast<int>(requests.size())) return process.mpi.reset();
  const std::string& request = requests.at(static_cast<size_t>(process.mpi_calls++));
  if (::write(process.mpi.get(), request.data(), request.size()) < 0) return process.mpi.reset();
  if (Process* parent = find(process.parent)) poke(*parent);
}

void Processes::call_mpi_abort(Process* rank, bool while_it_waits) {
  constexpr int kWaitsForSpawn = 2;
  if (!rank || !rank->mpi || rank->aborted || (rank->mpi_calls == kWaitsForSpawn && !while_it_waits)) return;
  std::string request = "cmd=abort exitcode=" + std::to_string(kAbortCode) + '\n';
  if (rank->mpi_calls == 0) request.insert(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  if (::write(rank->mpi.get(), request.data(), request.size()) < 0) return;
  rank->aborted = world_.now();
  world_.say(world_.host(rank->host).name + ": rank " + std::to_string(rank->rank) + " calls MPI_Abort");
  world_.tell([&](Observer& observer) { observer.aborted(*rank); });
  if (Process* parent = find(rank->parent)) poke(*parent);
}

/// A rank that waits for an answer of MPI ends after it.
void Processes::end_by_itself(int pid, int wait_status) {
  Process& process = all_.at(pid);
  if (process.alive && process.mpi && process.mpi_calls > 0) {
    return world_.on_process(pid, world_.now() + 200 * kMs,
                             [this, pid, wait_status] { end_by_itself(pid, wait_status); });
  }
  if (process.got_kill) return end(process, SIGKILL, Process::End::by_signal_of_agent);  // it was stuck
  end(process, wait_status, Process::End::by_itself);
}

Process& Processes::start_preparer(Process& worker, int in, int out) {
  Process& process = add(Process::Kind::preparer, worker.host, worker.agent, worker.pid);
  const int pid = process.pid;
  process.in = copy_of(in);
  process.out = copy_of(out);
  process.frames = std::make_unique<dlaunch::wire::Decoder>();
  world_.on_process(pid, world_.now() + kMs, [this, pid] { prepare(pid); });
  return process;
}

void Processes::prepare(int pid) {
  constexpr int kFailed = 1 << 8;
  Process& process = all_.at(pid);
  char bytes[1u << 14];
  for (ssize_t n; (n = ::read(process.in.get(), bytes, sizeof bytes)) >= 0;) {
    if (n == 0) return end(process, kFailed, Process::End::by_itself);
    process.frames->feed({bytes, static_cast<size_t>(n)});
  }
  for (;;) {
    const auto message = process.frames->next();
    if (!message) return end(process, kFailed, Process::End::by_itself);
    if (!*message) break;
    const bool asked = std::holds_alternative<dlaunch::wire::Prepare>(**message);
    const auto* stage = std::get_if<dlaunch::wire::Stage>(&**message);
    if (asked && ::write(process.out.get(), "=", 1) != 1) return end(process, kFailed, Process::End::by_itself);
    if (stage && stage->eof) return end(process, 0, Process::End::by_itself);
  }
  if (Process* parent = find(process.parent)) poke(*parent);
  world_.on_process(pid, world_.now() + 5 * kMs, [this, pid] { prepare(pid); });
}

void Processes::write_line(int pid) {
  Process& process = all_.at(pid);
  const bool writes =
      process.kind == Process::Kind::rank || (process.kind == Process::Kind::daemon && world_.scenario().writes);
  if (!process.alive || !writes || process.got_kill) return;
  Ns pause = 900 * kMs;
  if (process.stopped) {
    pause = 100 * kMs;
  } else if (process.out) {
    std::string text = (process.kind == Process::Kind::rank ? "r" : "d") + std::to_string(process.rank) + ' ' +
                       std::to_string(process.round) + " line " + std::to_string(process.lines);
    if (world_.scenario().loud) text += ' ' + std::string(PIPE_BUF - 100, 'x'), pause = 100 * kMs;
    text += '\n';
    if (::write(process.out.get(), text.data(), text.size()) > 0) {
      ++process.lines;
      world_.wrote(process, text);
      if (Process* parent = find(process.parent)) poke(*parent);
    } else {
      pause = 100 * kMs;  // the pipe is full
    }
  }
  world_.on_host(process.host, world_.now() + pause, [this, pid] { write_line(pid); });
}

void Processes::read_input(int pid) {
  Process& process = all_.at(pid);
  if (!process.alive || !process.in) return;
  char bytes[4096];
  for (ssize_t n; !process.stopped && (n = ::read(process.in.get(), bytes, sizeof bytes)) >= 0;) {
    if (n == 0) return process.in.reset();
    world_.took_input(process, std::string(bytes, static_cast<size_t>(n)));
  }
  if (Process* parent = find(process.parent)) poke(*parent);
  world_.on_host(process.host, world_.now() + 50 * kMs, [this, pid] { read_input(pid); });
}

std::vector<Process*> Processes::descendants(int pid) {
  std::vector<Process*> found;
  for (auto& [each, process] : all_) {
    if (!process.alive) continue;
    for (int parent = process.parent; parent != 0;) {
      if (parent == pid) {
        found.push_back(&process);
        break;
      }
      const Process* above = find(parent);
      parent = above && above->alive ? above->parent : 0;
    }
  }
  return found;
}

std::vector<Process*> Processes::of_job(int host) {
  std::vector<Process*> found;
  for (auto& [pid, process] : all_) {
    if (process.alive && process.runs_job() && process.host == host) found.push_back(&process);
  }
  return found;
}

bool Processes::signal(int pid, int signal, Process::End reason) {
  Process* const process = find(pid);
  if (!process || !process->alive) return false;
  if (signal == SIGKILL) {
    process->got_kill = true;
    if (process->runs_job() && world_.scenario().stuck.contains(process->rank)) return true;
    end(*process, SIGKILL, reason);
  } else if (signal == SIGSTOP) {
    stop(*process, signal);
  } else if (signal == SIGCONT) {
    go_on(*process);
  } else if (process->ignored.contains(signal)) {
    return true;
  } else if (process->runs_job()) {
    if (!is_ending(signal)) return true;  // no rank here has a handler; the default of the others is not modelled
    if (process->stopped) {
      process->pending.insert(signal);
    } else {
      terminate(*process, signal);
    }
  } else {
    poke(*process);
    if (!process->receiver || !process->receiver->deliver(signal)) process->pending.insert(signal);
  }
  return true;
}

bool Processes::signal_if_caught(int pid, int signal) {
  Process* const process = find(pid);
  const bool caught = process && process->alive && signal == SIGUSR1 && world_.scenario().preempt &&
                      !world_.scenario().deaf.contains(process->rank);
  if (!caught) return false;
  const Ns takes = 200 * kMs + static_cast<Ns>(world_.random() % 1'300'000'000u);
  world_.on_process(pid, world_.now() + takes, [this, pid] { end(all_.at(pid), 0, Process::End::by_itself); });
  return true;
}

/// The default action, or a handler that saves something first.
void Processes::terminate(Process& rank, int signal) {
  if (!rank.asked) rank.asked = world_.now();
  if (rank.kind == Process::Kind::preparer) return;
  if (rank.kind == Process::Kind::daemon || world_.scenario().deaf.contains(rank.rank)) return;
  const Ns time = world_.time_to_die();
  const bool exits = time > kMs && rank.pid % 3 == 0;  // a handler that exits with 0 after its work
  world_.on_process(rank.pid, world_.now() + time, [this, pid = rank.pid, status = exits ? 0 : signal] {
    end(all_.at(pid), status, Process::End::by_signal_of_agent);
  });
}

void Processes::stop(Process& process, int signal) {
  if (std::exchange(process.stopped, true)) return;
  process.change = (signal << 8) | 0x7f;
  told_parent(process);
}

void Processes::go_on(Process& process) {
  if (!std::exchange(process.stopped, false)) return;
  process.change = 0xffff;
  told_parent(process);
  poke(process);
  if (!process.runs_job()) return;
  for (const int signal : std::exchange(process.pending, {})) terminate(process, signal);
}

void Processes::end(Process& process, int wait_status, Process::End reason) {
  if (!process.alive) return;
  process.alive = false;
  process.zombie = process.parent != 0;
  process.wait_status = wait_status;
  process.end = reason;
  process.ended = world_.now();
  process.change.reset();
  if (process.fiber && !process.fiber->ended()) {
    Process* const before = std::exchange(current_, &process);
    process.fiber->kill();
    current_ = before;
  }
  process.receiver = nullptr;
  static constexpr const char* kNames[] = {"guardian", "worker", "rank", "daemon", "preparer"};
  const std::string name = kNames[static_cast<int>(process.kind)];
  world_.say(world_.host(process.host).name + ": " + name +
             (process.rank >= 0 ? ' ' + std::to_string(process.rank) : " of agent " + std::to_string(process.agent)) +
             " (pid " + std::to_string(process.pid) + ") ends, wait status " + std::to_string(wait_status));
  if (process.kind == Process::Kind::rank && world_.scenario().daemons.contains(process.rank)) {
    Process& daemon = add(Process::Kind::daemon, process.host, process.agent, reaper_of(process));
    daemon.rank = process.rank;
    daemon.round = process.round;
    std::swap(daemon.out, process.out);
    std::swap(daemon.err, process.err);
    world_.tell([&](Observer& observer) { observer.began(daemon); });
    if (world_.scenario().writes)
      world_.on_host(daemon.host, world_.now() + 100 * kMs, [this, pid = daemon.pid] { write_line(pid); });
  }
  for (sys::Fd* fd : {&process.in, &process.out, &process.err, &process.mpi}) fd->reset();
  world_.tell([&](Observer& observer) { observer.ended(process); });
  if (process.kind == Process::Kind::worker) world_.worker_ended(process.agent);
  leave_children(process);
  told_parent(process);
}

/// The nearest living subreaper among the ancestors: worker or guardian. 0: none.
int Processes::reaper_of(const Process& process) {
  for (int pid = process.parent; pid != 0;) {
    const Process& above = all_.at(pid);
    if (above.alive) return pid;
    pid = above.parent;
  }
  return 0;
}

/// Children get their death signal and another parent.
void Processes::leave_children(Process& process) {
  const int heir = reaper_of(process);
  std::vector<int> children;
  for (auto& [pid, child] : all_) {
    if (child.parent == process.pid && (child.alive || child.zombie)) children.push_back(pid);
  }
  for (const int pid : children) {
    Process& child = all_.at(pid);
    child.parent = heir;
    if (heir == 0) child.zombie = false;
    if (!child.alive) continue;
    if (child.kind == Process::Kind::worker) signal(pid, SIGTERM, Process::End::by_kernel);
    if (child.kind == Process::Kind::rank) signal(pid, SIGKILL, Process::End::by_kernel);
  }
}

void Processes::told_parent(Process& process) {
  if (process.parent != 0 && all_.at(process.parent).alive) signal(process.parent, SIGCHLD, Process::End::by_kernel);
  world_.poke_agents(process.host);
}

pid_t Processes::wait(Process& parent, pid_t pid, int* status, int options) {
  bool any = false;
  for (auto& [each, child] : all_) {
    if (child.parent != parent.pid || (pid > 0 && each != pid)) continue;
    if (child.zombie) {
      child.zombie = false;
      if (status) *status = child.wait_status;
      return each;
    }
    any = any || child.alive;
    if (!child.alive || !child.change || !(options & (WUNTRACED | WCONTINUED))) continue;
    if (status) *status = *child.change;
    child.change.reset();
    return each;
  }
  if (!any) errno = ECHILD;
  return any ? 0 : -1;
}

bool Processes::may_run(const Process& process) const {
  return process.alive && process.fiber && !process.stopped && !world_.host(process.host).frozen;
}

void Processes::run(Process& process) {
  Process* const before = std::exchange(current_, &process);
  process.fiber->resume();
  current_ = before;
}

}  // namespace sim
