// The descendants of this process. With PR_SET_CHILD_SUBREAPER they include daemons that left their session and parent,
// so "no children" (ECHILD) proves that no process is left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::sys {

/// Makes orphans among our descendants our children.
void become_subreaper();

/// Limit of children reaped by one call: others may end as fast as this process reaps, and the loop must continue.
inline constexpr int kMostReaped = 1000;

/// Reaps up to kMostReaped ended children and passes their pids, with the status of waitpid. Returns true if no child
/// is left.
bool reap_all(const std::function<void(int pid, int wait_status)>& reaped = {});

struct Process {
  int pid = 0;
  int parent = 0;
  int session = 0;
  unsigned long long start_time = 0;  ///< start time: a later process may have the same pid
  std::string name;
  char state = '?';         ///< as in proc(5): R, S, D, Z, …; of another thread after the end of the main thread
  bool main_ended = false;  ///< the main thread has ended (pthread_exit), and other threads run
};

/// Returns false if /proc is not mounted, or shows the pids of another pid namespace (unshare --pid without
/// --mount-proc). A pid from such a /proc belongs to a different process here.
bool proc_shows_own_pids();

/// Returns nullopt if the process does not exist.
std::optional<Process> find_process(int pid);

/// The living descendants of this process, without zombies, from one pass over /proc.
std::vector<Process> descendants();
/// The descendants of `pid` among `all`: a parent precedes its children.
std::vector<Process> descendants_of(int pid, const std::vector<Process>& all);

/// Like descendants(), from the kernel's lists of children, without a pass over /proc. A child that starts or ends
/// during the call may be missing. nullopt: this kernel does not have the lists (CONFIG_PROC_CHILDREN).
std::optional<std::vector<Process>> listed_descendants_of(int pid);

/// The processes of this machine, with zombies, from one pass over /proc; none if /proc does not show own pids.
std::vector<Process> all_processes();

/// The living processes of this machine whose environment at exec contained all `entries` ("NAME=VALUE"), as far as
/// this user may read it.
std::vector<Process> processes_with(const std::vector<std::string>& entries);

/// Sends the signal to exactly this process; not to another process with a reused pid. Sends nothing if /proc does not
/// show own pids.
void signal_process(const Process& process, int signal);

/// Returns true if this process has no child, not even an ended one.
bool has_no_child();

inline constexpr std::chrono::seconds kWaitAfterKill{5};  ///< for processes in uninterruptible sleep

/// Descendants in another session than this process: kept, or ended too. A child that did not leave the session is
/// always kept.
enum class OtherSessions { kept, ended };

/// Ends every descendant whose environment at exec contained one of the entries, and further such processes that appear
/// meanwhile: TERM, the grace period, KILL, `kill_wait`. Does not signal other children. Blocks for a limited time.
/// Returns the processes that did not end.
std::vector<Process> end_descendants_with(const std::vector<std::string>& entries, std::chrono::milliseconds grace,
                                          OtherSessions others = OtherSessions::kept,
                                          std::chrono::seconds kill_wait = kWaitAfterKill);

/// "pid 123 (python3), state D", for the message about a process that could not be ended.
std::string describe(const Process& process);

/// Returns true if the process has a handler for the signal (SigCgt of proc(5)); false if the process does not exist.
bool catches(int pid, int signal);

/// Sends the signal to each child that has a handler for the signal. A child without a handler may be a shell that
/// waits for the program: the first descendant with a handler on each branch of its process tree gets the signal. The
/// children of a process with a handler do not get the signal, because a forked worker has the handlers of its parent.
/// Returns the numbers of the children for which no process got the signal. Reads /proc once.
std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal);

}  // namespace dlaunch::sys
