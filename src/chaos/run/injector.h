// Applies the faults to the job's processes and links, and undoes them, also after a kill of dlaunch chaos (Undo).
// Owned by ChaosJob.
#pragma once

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
