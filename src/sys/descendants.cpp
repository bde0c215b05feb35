#include "sys/descendants.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "sys/child.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::sys {
namespace {

/// The pid of this process in the namespace of /proc; 0: unknown.
int find_self() {
  char target[32] = {};
  const ssize_t size = ::readlink("/proc/self", target, sizeof target - 1);
  return size > 0 ? std::atoi(target) : 0;
}

/// The threads of a process whose main thread has ended (pthread_exit).
std::vector<std::string> threads_after_main(int pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  std::vector<std::string> threads;
  for_each_entry(tasks, [&](const dirent& task) {
    if (std::atoi(task.d_name) > 0 && std::atoi(task.d_name) != pid) threads.push_back(tasks + '/' + task.d_name);
    return true;
  });
  return threads;
}

/// The state of a living thread; 'Z' if there is none.
char state_of_threads(int pid) {
  for (const std::string& thread : threads_after_main(pid)) {
    const std::string text = read_file(thread + "/stat").value_or("");
    const size_t close = text.rfind(')');
    if (close == std::string::npos || close + 2 >= text.size()) continue;
    if (text[close + 2] != 'Z' && text[close + 2] != 'X') return text[close + 2];
  }
  return 'Z';
}

}  // namespace

/// NSpid lists the pid in each namespace, from the namespace of /proc to this process's own.
bool proc_shows_own_pids() {
  constexpr std::string_view kField = "\nNSpid:";
  const std::string status = read_file("/proc/self/status").value_or("");
  const size_t at = status.find(kField);
  if (at == std::string::npos) return find_self() == ::getpid();  // a kernel before 4.1
  const size_t value = at + kField.size();
  return trim(std::string_view(status).substr(value, status.find('\n', value) - value)) == std::to_string(::getpid());
}

/// /proc/PID/stat: the name in parentheses may contain any character, so fields are counted after the last ')'.
std::optional<Process> find_process(int pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Process process;
  process.pid = pid;
  process.name = text.substr(open + 1, close - open - 1);
  // proc(5): state and ppid follow the name as fields 3 and 4; session is field 6, num_threads 20, starttime 22.
  constexpr const char* kFields = " %c %d %*d %d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %d %*d %llu";
  int threads = 0;
  if (std::sscanf(text.c_str() + close + 1, kFields, &process.state, &process.parent, &process.session, &threads,
                  &process.start_time) != 5) {
    return std::nullopt;
  }
  process.main_ended = process.state == 'Z' && threads > 1;
  if (process.main_ended) process.state = state_of_threads(pid);
  return process;
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  if (!proc_shows_own_pids()) return processes;
  for_each_entry("/proc", [&](const dirent& entry) {
    const int pid = std::atoi(entry.d_name);
    auto process = pid > 0 ? find_process(pid) : std::nullopt;
    if (process) processes.push_back(*std::move(process));
    return true;
  });
  return processes;
}

namespace {

constexpr std::chrono::milliseconds kPoll{20};
constexpr size_t kMostChildren = 4u << 20;    // size of the list of children
constexpr size_t kMaxEnvironment = 8u << 20;  // limit of execve

/// After the end of the main thread, only the other threads have an environment.
std::string environment_of(const Process& process) {
  const std::string main = "/proc/" + std::to_string(process.pid);
  if (!process.main_ended) return read_file(main + "/environ", kMaxEnvironment).value_or("");
  std::string environment;
  for (const std::string& thread : threads_after_main(process.pid)) {
    environment = read_file(thread + "/environ", kMaxEnvironment).value_or("");
    if (!environment.empty()) break;
  }
  return environment;
}

bool has_variable(const Process& process, const std::string& entry) {
  return ('\0' + environment_of(process)).find('\0' + entry + '\0') != std::string::npos;
}

}  // namespace

void become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw_errno("prctl(PR_SET_CHILD_SUBREAPER)");
}

bool reap_all(const std::function<void(int pid, int wait_status)>& reaped) {
  for (int children = 0; children < kMostReaped; ++children) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid == 0) return false;
    if (pid < 0 && errno == ECHILD) return true;
    if (pid > 0 && reaped) reaped(pid, wait_status);
  }
  return false;
}

std::vector<Process> descendants() { return descendants_of(::getpid(), all_processes()); }

std::vector<Process> descendants_of(int pid, const std::vector<Process>& all) {
  std::multimap<int, const Process*> by_parent;
  for (const Process& process : all) by_parent.emplace(process.parent, &process);
  std::vector<Process> found;
  std::vector<int> parents = {pid};
  while (!parents.empty()) {
    const int parent = parents.back();
    parents.pop_back();
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      parents.push_back(it->second->pid);
      if (it->second->state != 'Z') found.push_back(*it->second);
    }
  }
  return found;
}

std::optional<std::vector<Process>> listed_descendants_of(int pid) {
  static const bool kKept = ::access("/proc/thread-self/children", R_OK) == 0;
  if (!kKept || !proc_shows_own_pids()) return std::nullopt;
  std::vector<Process> found;
  std::vector<int> parents = {pid};
  while (!parents.empty()) {
    const std::string tasks = "/proc/" + std::to_string(parents.back()) + "/task";
    parents.pop_back();
    for_each_entry(tasks, [&](const dirent& task) {
      const std::string children = read_file(tasks + '/' + task.d_name + "/children", kMostChildren).value_or("");
      for (const std::string& child : split(children, ' ')) {
        const int number = std::atoi(child.c_str());
        auto process = number > 0 ? find_process(number) : std::nullopt;
        if (!process) continue;
        parents.push_back(number);
        if (process->state != 'Z') found.push_back(*std::move(process));
      }
      return true;
    });
  }
  return found;
}

std::vector<Process> processes_with(const std::vector<std::string>& entries) {
  std::vector<Process> found;
  for (Process& process : all_processes()) {
    const auto held = [&](const std::string& entry) { return has_variable(process, entry); };
    if (std::ranges::all_of(entries, held)) found.push_back(std::move(process));
  }
  return found;
}

void signal_process(const Process& process, int signal) {
  if (!proc_shows_own_pids()) return;
  const Fd handle = open_pidfd(process.pid);
  const auto now = find_process(process.pid);
  if (!now || now->start_time != process.start_time) return;
  if (handle) {
    ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  } else if (process.pid > 1) {
    ::kill(process.pid, signal);  // a kernel before 5.3
  }
}

bool has_no_child() {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

std::vector<Process> end_descendants_with(const std::vector<std::string>& entries, std::chrono::milliseconds grace,
                                          OtherSessions others, std::chrono::seconds kill_wait) {
  const int own_session = ::getsid(0);
  const auto kill_at = std::chrono::steady_clock::now() + grace;
  for (bool termed = false; !reap_all(); termed = true) {
    const auto now = std::chrono::steady_clock::now();
    std::vector<Process> left;
    for (const Process& process : descendants()) {
      const auto held = [&](const std::string& entry) { return has_variable(process, entry); };
      const bool other_session = others == OtherSessions::ended && process.session != own_session;
      if (!other_session && std::ranges::none_of(entries, held)) continue;
      left.push_back(process);
      if (now >= kill_at) {
        signal_process(process, SIGKILL);
      } else if (!termed) {
        signal_process(process, SIGTERM);
        signal_process(process, SIGCONT);
      }
    }
    if (left.empty() || now >= kill_at + kill_wait) return left;
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

std::string describe(const Process& process) {
  return "pid " + std::to_string(process.pid) + " (" + process.name + "), state " + process.state;
}

bool catches(int pid, int signal) {
  constexpr std::string_view kField = "\nSigCgt:";
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const size_t at = status.find(kField);
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::strtoull(status.c_str() + at + kField.size(), nullptr, 16);
  return ((mask >> (signal - 1)) & 1) != 0;
}

std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal) {
  std::multimap<int, Process> by_parent;
  std::map<int, Process> by_pid;
  for (Process& process : descendants()) {
    by_parent.emplace(process.parent, process);
    by_pid.emplace(process.pid, std::move(process));
  }
  std::vector<std::uint32_t> uncaught;
  for (const auto& [number, child] : children) {
    std::vector<Process> left;
    if (const auto found = by_pid.find(child); found != by_pid.end()) left.push_back(found->second);
    bool any = false;
    while (!left.empty()) {
      const Process process = std::move(left.back());
      left.pop_back();
      if (catches(process.pid, signal)) {
        signal_process(process, signal);
        any = true;
        continue;
      }
      const auto [first, last] = by_parent.equal_range(process.pid);
      for (auto it = first; it != last; ++it) left.push_back(it->second);
    }
    if (!any) uncaught.push_back(number);
  }
  return uncaught;
}

}  // namespace dlaunch::sys
