#include "chaos/run/injector.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/shared_texts.h"
#include "base/time.h"
#include "chaos/run/interface.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/io.h"

namespace dlaunch::chaos {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::milliseconds kExec{500};  // during execve(2) a process shows no environment
constexpr std::chrono::milliseconds kLookAgain{10};

/// Agents name their files after the job.
void add_files_left(const std::string& where, const std::string& job_id, std::vector<std::string>& left) {
  sys::for_each_entry(where, [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (name.starts_with("dlaunch-") && name.find(job_id) != std::string_view::npos) {
      left.push_back(where + '/' + entry.d_name);
    }
    return true;
  });
}

}  // namespace

std::optional<sys::Process> rank_process(const report::Record& record, int rank) {
  const auto index = static_cast<size_t>(rank);
  if (index >= record.ranks.size() || record.ranks[index].end.pid == 0) return std::nullopt;
  const int pid = record.ranks[index].end.pid;
  const Time until = Clock::now() + kExec;
  for (;;) {
    const auto own = sys::processes_with({rank_mark(record.job_id), "DLAUNCH_RANK=" + std::to_string(rank)});
    const auto found = std::ranges::find(own, pid, &sys::Process::pid);
    if (found != own.end()) return *found;
    const auto there = sys::find_process(pid);
    if (!there || there->state == 'Z' || Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(kLookAgain);
  }
}

std::vector<sys::Process> agent_processes(const report::Record& record, const std::string& host) {
  for (const report::RecordedRank& rank : record.ranks) {
    if (rank.host != host) continue;
    const auto process = rank_process(record, rank.rank);
    const auto worker = process ? sys::find_process(process->parent) : std::nullopt;
    const auto guardian = worker ? sys::find_process(worker->parent) : std::nullopt;
    if (guardian) return {*guardian, *worker};
  }
  return {};
}

std::vector<sys::Process> agent_processes(int pid) {
  std::vector<sys::Process> found;
  if (const auto guardian = sys::find_process(pid)) found.push_back(*guardian);
  for (const sys::Process& each : sys::descendants_of(pid, sys::all_processes())) {
    if (each.parent == pid) found.push_back(each);
  }
  return found;
}

std::vector<std::string> left_of(const std::string& job_id, std::chrono::seconds patience) {
  const Time until = Clock::now() + patience;
  for (;;) {
    std::vector<std::string> left;
    for (const sys::Process& each : sys::processes_with({rank_mark(job_id)})) {
      if (each.state != 'Z') left.push_back(sys::describe(each));
    }
    const char* const temporary = std::getenv("TMPDIR");
    add_files_left(temporary && *temporary != '\0' ? temporary : "/tmp", job_id, left);
    add_files_left("/dev/shm", job_id, left);
    if (left.empty() || Clock::now() >= until) return left;
    std::this_thread::sleep_for(kLook);
  }
}

namespace {

using Kind = FaultTarget::Kind;

/// Hosts with ranks, in the order of their first rank.
std::vector<std::string> hosts_with_ranks(const report::Record& record) {
  std::vector<std::string> hosts;
  for (const report::RecordedRank& rank : record.ranks) {
    if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
  }
  return hosts;
}

void heal(const Fault& fault, const std::string& handle) {
  fault.what == FaultKind::cut ? bring_up(fault.target.interface) : speed_up(fault.target.interface, handle);
}

constexpr std::chrono::seconds kUndoWait{5};
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPause{100};

constexpr struct stat kNothing{};

constexpr const char* kCut = "cut";
constexpr const char* kSlow = "slow";

/// The launcher has printed the paths of the files with all threads. Without --report, the files stay here.
bool keeps_stacks(const sys::HeldPlace& place, const std::function<bool(const struct stat&)>& is_own) {
  const sys::HeldDirectory held = place.directory.open_below(place.name);
  const auto facts = held ? held.facts() : std::nullopt;
  std::vector<std::string> stacks;
  if (!facts || !is_own(*facts)) return false;
  held.for_each_entry([&](const dirent& entry) {
    if (std::string_view(entry.d_name).starts_with("record.stacks.")) stacks.emplace_back(entry.d_name);
    return true;
  });
  return !stacks.empty() && held.remove_content(stacks) == 0;
}

/// Reads "PID START\n", "cut INTERFACE\n" and "slow INTERFACE\n" until the pipe ends, then undoes each line, and
/// removes the directory.
void undo_at_the_end(int in, const std::string& directory, const struct stat& made, const std::string& handle) {
  std::string all;
  char some[4096];
  for (;;) {
    const ssize_t size = ::read(in, some, sizeof some);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    all.append(some, static_cast<size_t>(size));
  }
  std::istringstream words(all);
  std::string first, second;
  while (words >> first >> second) {
    if (first == kCut) {
      bring_up(second);
    } else if (first == kSlow) {
      speed_up(second, handle);
    } else {
      sys::Process process;
      process.pid = std::atoi(first.c_str());
      process.start_time = std::strtoull(second.c_str(), nullptr, 10);
      sys::signal_process(process, SIGCONT);
    }
  }
  const sys::HeldPlace place = sys::HeldPlace::of(directory);
  const auto is_own = [&](const struct stat& its) { return sys::is_same(its, made); };
  for (int tries = 0; place && tries < kTries; ++tries) {  // a launcher may write its record there meanwhile
    if (tries > 0) std::this_thread::sleep_for(kPause);
    if (keeps_stacks(place, is_own)) return;
    const int error = place.directory.remove_directory(place.name, is_own);
    if (error == 0 || error == ENOENT || error == EPERM) return;
  }
}

}  // namespace

/// A random number for the fault, by splitmix64.
std::uint64_t Injector::chance(size_t number) const {
  std::uint64_t value = seed_ + (number + 1) * 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

/// Replaces `any` by a choice.
void Injector::choose(size_t number, Injection& injection, const report::Record& record) const {
  FaultTarget& target = injection.fault.target;
  if (!target.any || record.ranks.empty()) return;
  if (target.kind == Kind::rank) {
    target.rank = static_cast<int>(chance(number) % record.ranks.size());
  } else {
    const auto hosts = hosts_with_ranks(record);
    target.host = hosts[chance(number) % hosts.size()];
  }
  target.any = false;
}

bool Injector::begin(size_t number, Injection& injection, const report::Record& record) {
  // RLIMIT_FSIZE causes the fault; settle() finds out if it fired
  if (injection.fault.target.kind == Kind::output) return false;
  choose(number, injection, record);
  injection.pids.clear();
  injection.host = injection.fault.target.host;
  const auto hosts = hosts_with_ranks(record);
  injection.without_ranks = !injection.host.empty() && std::ranges::find(hosts, injection.host) == hosts.end();
  if (injection.fault.target.kind == Kind::link) return begin_on_link(injection);
  if (injection.fault.target.kind == Kind::interface) return begin_on_interface(number, injection);
  return begin_on_processes(number, injection, processes_of(injection, record));
}

std::vector<sys::Process> Injector::processes_of(Injection& injection, const report::Record& record) const {
  const FaultTarget& target = injection.fault.target;
  std::optional<sys::Process> one;
  if (target.kind == Kind::rank) {
    one = rank_process(record, target.rank);
    if (one) injection.host = record.ranks[static_cast<size_t>(target.rank)].host;
  } else if (target.kind == Kind::launcher) {
    one = sys::find_process(launcher_);
  } else {
    auto agent = agent_processes(record, target.host);
    const auto commands = links_ ? links_->commands(target.host) : std::vector<int>{};
    return agent.empty() && !commands.empty() ? agent_processes(commands.front()) : agent;
  }
  return one ? std::vector{*one} : std::vector<sys::Process>{};
}

bool Injector::begin_on_processes(size_t number, Injection& injection, const std::vector<sys::Process>& processes) {
  if (processes.empty()) {
    injection.why_not = to_words(injection.fault.target) + ": not a process of this machine";
    return false;
  }
  for (const sys::Process& each : processes) injection.pids.push_back(each.pid);
  if (injection.fault.what == FaultKind::stop) {
    stopped_by_[number] = processes;
    if (undo_.stop(processes)) return true;
    injection.why_not = "cannot start the process that undoes the fault";
    return false;
  }
  for (const sys::Process& each : processes) {
    sys::signal_process(each, injection.fault.what == FaultKind::kill ? SIGKILL : injection.fault.signal);
    if (injection.fault.what == FaultKind::signal) break;  // the first process of an agent forwards it
  }
  return true;
}

bool Injector::begin_on_link(Injection& injection) {
  const std::string& host = injection.host;
  injection.pids = links_->commands(host);
  if (injection.pids.empty()) {
    injection.why_not = "missing connection to " + host;
    return false;
  }
  const Fault& fault = injection.fault;
  if (fault.what == FaultKind::reset) return links_->close(host);
  links_->tell(host, fault.what == FaultKind::cut ? "hold" : "rate " + std::to_string(fault.bytes));
  return true;
}

bool Injector::begin_on_interface(size_t number, Injection& injection) {
  if (is_broken(injection.fault)) {
    injection.why_not = "interface " + injection.fault.target.interface + " is down already";
    return false;
  }
  const bool noted = undo_.note(injection.fault);
  injection.why_not =
      noted ? break_interface(injection.fault, undo_.handle()) : "cannot start the process that undoes the fault";
  if (!injection.why_not.empty()) return false;
  broken_[number] = injection.fault;
  return true;
}

void Injector::end(size_t number, const Injection& injection) {
  if (broken_.erase(number) > 0) return heal(injection.fault, undo_.handle());
  if (injection.fault.target.kind == Kind::link) return links_->tell(injection.host, "pass");
  Undo::go_on(stopped_by_[number]);
  stopped_by_.erase(number);
}

void Injector::end_all() {
  for (const auto& [number, processes] : stopped_by_) Undo::go_on(processes);
  stopped_by_.clear();
  for (const auto& [number, fault] : broken_) heal(fault, undo_.handle());
  broken_.clear();
  if (!links_) return;
  for (const std::string& host : links_->hosts()) links_->tell(host, "pass");
}

Undo::Undo(const std::string& directory)
    : handle_(draw_handle()), child_(sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) {
        const auto made = sys::HeldDirectory::open(directory).facts();
        undo_at_the_end(ends.in, directory, made.value_or(kNothing), handle_);
      })) {}

Undo::~Undo() {
  if (!child_) return;
  child_->close_in();
  child_->wait(kUndoWait);
}

bool Undo::stop(const std::vector<sys::Process>& processes) {
  std::string list;
  for (const sys::Process& each : processes) {
    list += std::to_string(each.pid) + ' ' + std::to_string(each.start_time) + '\n';
  }
  if (!child_ || !sys::write_all(child_->in().get(), list)) return false;
  for (const sys::Process& each : processes) sys::signal_process(each, SIGSTOP);
  return true;
}

bool Undo::note(const Fault& fault) {
  const std::string line = (fault.what == FaultKind::cut ? kCut : kSlow) + (' ' + fault.target.interface) + '\n';
  return child_ && sys::write_all(child_->in().get(), line);
}

void Undo::go_on(const std::vector<sys::Process>& processes) {
  for (const sys::Process& each : processes) sys::signal_process(each, SIGCONT);
}

}  // namespace dlaunch::chaos
