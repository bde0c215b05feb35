// Everything that descends from this process. With PR_SET_CHILD_SUBREAPER that includes daemons that left their session
// and their parent, so "no children" (ECHILD) proves that nothing is left.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::sys {

/// Orphans among our descendants become our children from now on.
void become_subreaper();

/// Children that are reaped at one go. Others may end as fast as we reap, and everything else would wait for the last.
inline constexpr int kMostReaped = 1000;

/// Reaps children that have ended, so many at the most. True when no child at all is left.
bool reap_all();

struct Process {
  int pid = 0;
  int parent = 0;
  unsigned long long start_time = 0;  ///< tells a pid from its reuse
  std::string name;
  char state = '?';  ///< as in proc(5): R, S, D, Z, …
};

/// nullopt when there is none.
std::optional<Process> find_process(int pid);

/// The living descendants (zombies are left out), from one pass over /proc.
std::vector<Process> descendants();

/// The living processes of this machine whose environment at their exec held `entry` ("NAME=VALUE"), as far as this
/// user may look at it.
std::vector<Process> processes_with(const std::string& entry);

/// Sends the signal to exactly that process: if its pid was reused meanwhile, to nobody.
void signal_process(const Process& process, int signal);

/// Ends every descendant whose environment at its exec held one of the entries, and whatever of the like they leave:
/// TERM, the grace, KILL. Others, such as children that we had before, are left alone. Waits; bounded.
void end_descendants_with(const std::vector<std::string>& entries, std::chrono::milliseconds grace);

/// "pid 123 (python3), state D" for the message that something could not be ended.
std::string describe(const Process& process);

}  // namespace dlaunch::sys
