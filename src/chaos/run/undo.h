// The actions at the end of the job, also after a kill of dlaunch chaos: a child process keeps the list. Stopped
// processes continue, network interfaces are restored, and the directory of the job's files is removed. The proxies of
// links undo their own faults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chaos/fault.h"
#include "sys/descendants.h"
#include "sys/helper_process.h"

namespace dlaunch::chaos {

class Undo {
 public:
  /// Starts the child. No process is stopped if that fails.
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

}  // namespace dlaunch::chaos
