// Everything that descends from this process. With PR_SET_CHILD_SUBREAPER that includes daemons that left their session
// and their parent, so "no children" (ECHILD) proves that nothing is left.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::sys {

/// Orphans among our descendants become our children from now on.
void become_subreaper();

/// The most children that one call reaps. Others may end as fast as we reap, and everything else would wait.
inline constexpr int kMostReaped = 1000;

/// Reaps up to kMostReaped children that have ended, and tells their pids. True when no child at all is left.
bool reap_all(const std::function<void(int)>& reaped = {});

struct Process {
  int pid = 0;
  int parent = 0;
  unsigned long long start_time = 0;  ///< tells a process from a later one of the same pid
  std::string name;
  char state = '?';  ///< as in proc(5): R, S, D, Z, …
};

/// nullopt when there is no such process.
std::optional<Process> find_process(int pid);

/// The living descendants of this process (zombies are left out), from one pass over /proc.
std::vector<Process> descendants();
/// Of `pid` among `all`: a parent comes before its children.
std::vector<Process> descendants_of(int pid, const std::vector<Process>& all);

/// The same by the lists of children that the kernel keeps, without a pass over /proc. A child that comes or ends
/// meanwhile may be missing. nullopt: this kernel keeps none (CONFIG_PROC_CHILDREN).
std::optional<std::vector<Process>> listed_descendants_of(int pid);

/// Those of this machine, zombies included, from one pass over /proc.
std::vector<Process> all_processes();

/// The living processes of this machine whose environment at their exec held all of `entries` ("NAME=VALUE"), as far as
/// this user may read it.
std::vector<Process> processes_with(const std::vector<std::string>& entries);

/// Sends the signal to exactly that process; to none if its pid was reused.
void signal_process(const Process& process, int signal);

/// Ends every descendant whose environment at its exec held one of the entries, and such processes that these leave
/// behind: TERM, the grace, KILL. Other children are left alone. Blocks for a bounded time.
void end_descendants_with(const std::vector<std::string>& entries, std::chrono::milliseconds grace);

/// "pid 123 (python3), state D" for the message that something could not be ended.
std::string describe(const Process& process);

}  // namespace dlaunch::sys
