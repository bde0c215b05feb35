// Applies the faults to the job's processes and links, and undoes them, also after a kill of dlaunch chaos (Undo).
// Owned by ChaosJob.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chaos/fault.h"
#include "chaos/run/links.h"
#include "chaos/verdict.h"
#include "dlaunch/record.h"
#include "sys/descendants.h"
#include "sys/helper_process.h"

namespace dlaunch::chaos {

// Finds the processes of this machine that a fault affects: those in the job's record, compared with the environment
// that the job set.

inline constexpr std::chrono::seconds kGone{40};  ///< twice three heartbeats of silence, the grace period and KILL

/// The process of the rank; nullopt: not found, or on another machine.
std::optional<sys::Process> rank_process(const report::Record& record, int rank);

/// The guardian and the worker of the host's agent, as parents of a rank; empty: no rank of the host runs on this
/// machine.
std::vector<sys::Process> agent_processes(const report::Record& record, const std::string& host);

/// The agent that replaced a link's command by exec, and its worker.
std::vector<sys::Process> agent_processes(int pid);

/// The processes of the job on this machine, by the id in their environment, and the files of its agents in the
/// directory for temporary files and in /dev/shm, also sockets. Waits until all are gone; without an argument, for the
/// limits of the job.
std::vector<std::string> left_of(const std::string& job_id, std::chrono::seconds patience = kGone);

/// The actions at the end of the job, also after a kill of dlaunch chaos: a child process keeps the list. Stopped
/// processes continue, network interfaces are restored, and the directory of the job's files is removed. The proxies of
/// links undo their own faults.
class Undo {
 public:
  /// Starts the child. If the start fails, no process is stopped.
  explicit Undo(const std::string& directory);
  /// Undoes every entry.
  ~Undo();
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  /// False: without a child for the undo, the process was not stopped.
  bool stop(const std::vector<sys::Process>& processes);
  /// The same before a fault of an interface.
  bool note(const Fault& fault);
  /// The handle of the disciplines that slow interfaces.
  [[nodiscard]] const std::string& handle() const { return handle_; }
  static void go_on(const std::vector<sys::Process>& processes);

 private:
  std::string handle_;
  std::optional<sys::HelperProcess> child_;
};

class Injector {
 public:
  /// Null links: the links of the job have no proxies. Links and undo must outlive the injector.
  Injector(int launcher, Links* links, Undo& undo, std::uint64_t seed)
      : launcher_(launcher), links_(links), seed_(seed), undo_(undo) {}

  /// Writes the affected processes and hosts into the injection, or the reason why there is none. Returns true if the
  /// fault fired.
  bool begin(size_t number, Injection& injection, const report::Record& record);
  void end(size_t number, const Injection& injection);
  /// No fault is active after this call.
  void end_all();

 private:
  std::uint64_t chance(size_t number) const;
  void choose(size_t number, Injection& injection, const report::Record& record) const;
  std::vector<sys::Process> processes_of(Injection& injection, const report::Record& record) const;
  bool begin_on_link(Injection& injection);
  bool begin_on_interface(size_t number, Injection& injection);
  bool begin_on_processes(size_t number, Injection& injection, const std::vector<sys::Process>& processes);

  const int launcher_;
  Links* const links_;
  const std::uint64_t seed_;
  Undo& undo_;
  std::map<size_t, std::vector<sys::Process>> stopped_by_;  // fault
  std::map<size_t, Fault> broken_;                          // interfaces, by fault
};

}  // namespace dlaunch::chaos
