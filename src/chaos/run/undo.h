// What is undone when the job is over, and also when dlaunch chaos is killed: a child of ours holds the list. Processes
// that were stopped go on, interfaces of the network are as before, and the directory of the job's own files is
// removed. Links are undone by their proxies.
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
  /// Starts the child. Nothing is stopped where that fails.
  explicit Undo(const std::string& directory);
  /// Undoes it all.
  ~Undo();
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  /// False: there is no child to undo it, and nothing was stopped.
  bool stop(const std::vector<sys::Process>& processes);
  /// The same before an interface is broken.
  bool note(const Fault& fault);
  /// Of what slows interfaces.
  [[nodiscard]] const std::string& handle() const { return handle_; }
  static void go_on(const std::vector<sys::Process>& processes);

 private:
  std::string handle_;
  std::optional<sys::HelperProcess> child_;
};

}  // namespace dlaunch::chaos
