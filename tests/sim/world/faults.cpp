#include "world/faults.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <stdexcept>

#include "world/world.h"

namespace sim {
namespace {

using Of = FaultKind::Of;
using End = Process::End;
constexpr Ns kKillWait = 30 * kSecond;  // of Slurm
constexpr Ns kFlap = 9 * kSecond;
constexpr Ns kClockJump = 5 * kSecond;

// ---- the network ----
void block(World& world, const Fault& fault, bool out, bool in) {
  Host& host = world.host(fault.host);
  host.out_blocked = host.out_blocked || out;
  host.in_blocked = host.in_blocked || in;
}
void silent(World& world, const Fault& fault) { block(world, fault, true, true); }
void mute(World& world, const Fault& fault) { block(world, fault, true, false); }
void deaf(World& world, const Fault& fault) { block(world, fault, false, true); }
/// The first half of the host's next packet arrives, then nothing.
void half(World& world, const Fault& fault) {
  world.host(fault.host).halves = true;
  block(world, fault, false, true);
}
void heal(World& world, const Fault& fault) {
  Host& host = world.host(fault.host);
  host.out_blocked = host.in_blocked = host.halves = false;
  world.network().unblock(fault.host);
}
void cut(World& world, const Fault& fault) { world.network().cut(fault.host); }
/// The network is silent for 9 s, too short for the loss of a host, and works for 0.2 s, until the end of the fault.
void flap(World& world, const Fault& fault, Ns until) {
  if (world.now() >= until || !world.launcher_there()) return heal(world, fault);
  block(world, fault, true, true);
  world.at(world.now() + kFlap, [&world, fault, until] {
    heal(world, fault);
    world.at(world.now() + 200 * kMs, [&world, fault, until] { flap(world, fault, until); });
  });
}
void flaps(World& world, const Fault& fault) {
  flap(world, fault, fault.length > 0 ? world.now() + fault.length : std::numeric_limits<Ns>::max());
}
/// CLOCK_REALTIME of the host is set; at the end of the fault, set back.
void clock_jumps(World& world, const Fault& fault) { world.host(fault.host).clock_offset += kClockJump; }
void clock_jumps_back(World& world, const Fault& fault) { world.host(fault.host).clock_offset -= kClockJump; }

// ---- hosts and agents ----
void freeze(World& world, const Fault& fault) { world.host(fault.host).frozen = true; }
void thaw(World& world, const Fault& fault) { world.thaw(fault.host); }

/// The newest agent of the host with a living process of this kind.
int newest(World& world, int host, Process::Kind kind) {
  int found = 0;
  for (const auto& [pid, process] : world.processes().all()) {
    if (process.alive && process.kind == kind && process.host == host) found = pid;
  }
  return found;
}
void kill_newest(World& world, const Fault& fault, Process::Kind kind) {
  world.processes().signal(newest(world, fault.host, kind), SIGKILL, End::by_kernel);
}
void stop_worker(World& world, const Fault& fault) {
  world.processes().signal(newest(world, fault.host, Process::Kind::worker), SIGSTOP, End::by_kernel);
}
void continue_workers(World& world, const Fault& fault) {
  for (auto& [pid, process] : world.processes().all()) {
    if (process.kind != Process::Kind::worker || process.host != fault.host || !process.stopped) continue;
    world.processes().signal(pid, SIGCONT, End::by_kernel);
  }
}
void kill_worker(World& world, const Fault& fault) { kill_newest(world, fault, Process::Kind::worker); }
void kill_guardian(World& world, const Fault& fault) { kill_newest(world, fault, Process::Kind::guardian); }
void kill_both(World& world, const Fault& fault) {
  const int worker = newest(world, fault.host, Process::Kind::worker);
  kill_guardian(world, fault);
  world.processes().signal(worker, SIGKILL, End::by_kernel);
}

// ---- ranks ----
Process* oldest_rank(World& world, int host) {
  for (auto& [pid, process] : world.processes().all()) {
    if (process.alive && process.kind == Process::Kind::rank && process.host == host && !process.stopped)
      return &process;
  }
  return nullptr;
}
Process* newest_rank(World& world, int host) {
  Process* found = nullptr;
  for (auto& [pid, process] : world.processes().all()) {
    if (process.alive && process.kind == Process::Kind::rank && process.host == host && !process.stopped)
      found = &process;
  }
  return found;
}
void end_rank(World& world, Process* rank, int wait_status) {
  if (rank && !world.scenario().stuck.contains(rank->rank)) {
    world.processes().end(*rank, wait_status, End::by_itself);
    world.processes().poke(*rank);
  }
}
/// A spawned rank, if there are any.
void segv_newest(World& world, const Fault& fault) { end_rank(world, newest_rank(world, fault.host), SIGSEGV); }
void exit0(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), 0); }
void exit7(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), 7 << 8); }
void exit2(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), 2 << 8); }
void exit93(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), 93 << 8); }
void segv(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), SIGSEGV); }
void oom(World& world, const Fault& fault) { end_rank(world, oldest_rank(world, fault.host), SIGKILL); }
void hang(World& world, const Fault& fault) {
  if (Process* rank = oldest_rank(world, fault.host)) world.processes().signal(rank->pid, SIGSTOP, End::by_kernel);
}
/// The host has as many processes as the user may have.
void no_forks(World& world, const Fault& fault) { world.host(fault.host).forks = false; }
void forks(World& world, const Fault& fault) { world.host(fault.host).forks = true; }
void abort_mpi(World& world, const Fault& fault) {
  world.processes().call_mpi_abort(oldest_rank(world, fault.host), false);
}
void abort_by_thread(World& world, const Fault& fault) {
  world.processes().call_mpi_abort(oldest_rank(world, fault.host), true);
}
void go_on(World& world, const Fault& fault) {
  for (auto& [pid, process] : world.processes().all()) {
    if (process.kind == Process::Kind::rank && process.host == fault.host && process.stopped) {
      world.processes().signal(pid, SIGCONT, End::by_kernel);
    }
  }
}

// ---- logins ----
void refuse(World& world, const Fault& fault) { world.host(fault.host).refuses = -1; }
void refuse_once(World& world, const Fault& fault) { world.host(fault.host).refuses = 1; }
void serve(World& world, const Fault& fault) { world.host(fault.host).refuses = 0; }
void slow(World& world, const Fault& fault) { world.host(fault.host).slow = 6 * kSecond; }
void fast(World& world, const Fault& fault) { world.host(fault.host).slow = 0; }

// ---- the user, the launcher, the reader, the manager ----
void sigint(World& world, const Fault&) { world.signal_launcher(SIGINT); }
void sigterm(World& world, const Fault&) { world.signal_launcher(SIGTERM); }
void sighup(World& world, const Fault&) { world.signal_launcher(SIGHUP); }
void sigtstp(World& world, const Fault& fault) {
  if (fault.length > 0) world.set_suspension(fault.length);
  world.signal_launcher(SIGTSTP);
}
void sigusr1(World& world, const Fault&) { world.signal_launcher(SIGUSR1); }
Ns pause_of(const Fault& fault) { return fault.length > 0 ? fault.length : 25 * kSecond; }
void pause(World& world, const Fault& fault) { world.stop_launcher(pause_of(fault)); }
/// What happens in a pause is ready at once when it ends.
void pause_int(World& world, const Fault& fault) {
  pause(world, fault);
  world.at(world.now() + pause_of(fault) - kSecond, [&world] {
    if (world.launcher_there()) world.signal_launcher(SIGINT);
  });
}
void pause_exit(World& world, const Fault& fault) {
  pause(world, fault);
  world.on_host(fault.host, world.now() + pause_of(fault) - kSecond, [&world, fault] {
    if (world.launcher_there()) exit7(world, fault);
  });
}
void reader_slow(World& world, const Fault&) { world.set_reading(false); }
void reader_back(World& world, const Fault&) { world.set_reading(true); }
/// A batch system ends a part of the job.
void term_guardian(World& world, const Fault& fault) {
  world.processes().signal(newest(world, fault.host, Process::Kind::guardian), SIGTERM, End::by_kernel);
}
/// Like scancel: TERM to all processes of the job, KILL after KillWait.
void manager(World& world, const Fault& fault) {
  const auto signal_all = [&world](int number) {
    std::vector<std::pair<int, int>> all;
    for (const auto& [pid, process] : world.processes().all()) {
      if (process.alive) all.emplace_back(pid, process.host);
    }
    // In any order: a rank may end before its agent gets the signal.
    const bool ranks_first = world.scenario().seed % 3 == 0;
    if (ranks_first) std::ranges::reverse(all);
    Ns time = world.now();
    for (const auto& [pid, host] : all) {
      world.on_host(host, time, [&world, pid = pid, number] { world.processes().signal(pid, number, End::by_kernel); });
      if (ranks_first) time += kMs / 20;
    }
  };
  signal_all(SIGTERM);
  world.at(world.now() + manager_kill_wait(fault), [signal_all] { signal_all(SIGKILL); });
}

}  // namespace

const std::vector<FaultKind>& fault_kinds() {
  static const std::vector<FaultKind> kinds = {
      {"silent", Of::host, silent, heal},
      {"mute", Of::host, mute, heal},
      {"deaf", Of::host, deaf, heal},
      {"cut", Of::host, cut, nullptr},
      {"half", Of::host, half, heal},
      {"flap", Of::host, flaps, nullptr},
      {"clock", Of::clock, clock_jumps, clock_jumps_back},
      {"freeze", Of::host, freeze, thaw},
      {"stopw", Of::host, stop_worker, continue_workers},
      {"killw", Of::host, kill_worker, nullptr},
      {"killg", Of::host, kill_guardian, nullptr},
      {"killboth", Of::host, kill_both, nullptr},
      {"exit0", Of::rank, exit0, nullptr},
      {"exit7", Of::rank, exit7, nullptr},
      {"exit2", Of::rank, exit2, nullptr},
      {"exit93", Of::rank, exit93, nullptr},
      {"abort", Of::rank, abort_mpi, nullptr},
      {"abortthread", Of::rank, abort_by_thread, nullptr},
      {"nofork", Of::rank, no_forks, forks},
      {"segv", Of::rank, segv, nullptr},
      {"segvnew", Of::rank, segv_newest, nullptr},
      {"oom", Of::rank, oom, nullptr},
      {"hang", Of::rank, hang, go_on},
      {"refuse", Of::login, refuse, serve},
      {"refuse1", Of::login, refuse_once, nullptr},
      {"slow", Of::login, slow, fast},
      {"int", Of::user, sigint, nullptr},
      {"term", Of::user, sigterm, nullptr},
      {"hup", Of::user, sighup, nullptr},
      {"usr1", Of::user, sigusr1, nullptr},
      {"mgr", Of::manager, manager, nullptr},
      {"termg", Of::manager, term_guardian, nullptr},
      {"pause", Of::launcher, pause, nullptr},
      {"pauseint", Of::user, pause_int, nullptr},
      {"pauseexit", Of::rank, pause_exit, nullptr},
      {"tstp", Of::launcher, sigtstp, nullptr},
      {"reader", Of::reader, reader_slow, reader_back},
  };
  return kinds;
}

Ns manager_kill_wait(const Fault& fault) { return fault.length > 0 ? fault.length : kKillWait; }

bool is_fault(std::string_view kind) {
  return std::ranges::any_of(fault_kinds(), [&](const FaultKind& each) { return each.name == kind; });
}

const FaultKind& kind_of(const Fault& fault) {
  return *std::ranges::find(fault_kinds(), std::string_view(fault.kind), &FaultKind::name);
}

Faults::Faults(World& world) : world_(world) {
  const auto& faults = world_.scenario().faults;
  for (size_t i = 0; i < faults.size(); ++i) {
    const bool first = i == 0 && faults[i].moment.after == Moment::After::fault;
    const bool at_start = faults[i].moment.after == Moment::After::start;
    if (at_start && faults[i].moment.delay == 0 && kind_of(faults[i]).of == Of::login) continue;  // begin_early()
    if (first || at_start) arm(i);
  }
}

void Faults::begin_early() {
  const auto& faults = world_.scenario().faults;
  for (size_t i = 0; i < faults.size(); ++i) {
    const bool first = faults[i].moment.after == Moment::After::start && faults[i].moment.delay == 0;
    if (!first || kind_of(faults[i]).of != Of::login) continue;
    armed_.insert(i);
    begin(i);
  }
}

void Faults::sent(const std::string& message) {
  const auto& faults = world_.scenario().faults;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].moment.after == Moment::After::sent && faults[i].moment.text == message) arm(i);
  }
}

void Faults::printed(std::string_view text) {
  const auto& faults = world_.scenario().faults;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].moment.after == Moment::After::printed && text.find(faults[i].moment.text) != text.npos) arm(i);
  }
}

void Faults::arm(size_t index) {
  if (!armed_.insert(index).second) return;
  world_.at(world_.now() + world_.scenario().faults[index].moment.delay, [this, index] { begin(index); });
}

void Faults::begin(size_t index) {
  const auto& faults = world_.scenario().faults;
  const Fault& fault = faults[index];
  const FaultKind& kind = kind_of(fault);
  if (index + 1 < faults.size() && faults[index + 1].moment.after == Moment::After::fault) arm(index + 1);
  Host& host = world_.host(fault.host);
  const bool of_processes = kind.of == Of::rank || (kind.of == Of::host && kind.end != heal && kind.end != thaw &&
                                                    kind.begin != cut && kind.begin != flaps);
  if (of_processes && host.frozen) return host.deferred.push_back([this, index] { begin(index); });
  if (!world_.launcher_there()) return;
  world_.say("FAULT " + fault.kind + ' ' + host.name);
  world_.tell([&](Observer& observer) { observer.fault(fault, false); });
  kind.begin(world_, fault);
  if (fault.length == 0 || !kind.end) return;
  world_.at(world_.now() + fault.length, [this, index] {
    const Fault& over = world_.scenario().faults[index];
    world_.say("FAULT " + over.kind + ' ' + world_.host(over.host).name + " ends");
    world_.tell([&](Observer& observer) { observer.fault(over, true); });
    kind_of(over).end(world_, over);
  });
}

}  // namespace sim
