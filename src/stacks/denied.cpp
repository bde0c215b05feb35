#include "stacks/denied.h"

#include <unistd.h>

#include "stacks/proc.h"
#include "sys/files.h"

namespace dlaunch::stacks {

std::string why_denied(pid_t pid) {
  const auto status = sys::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const auto uid = number_of(status, "Uid");
  if (uid && *uid != static_cast<std::int64_t>(::geteuid())) {
    return "it belongs to user " + std::to_string(*uid) + ": look as that user or as root";
  }
  const auto yama = sys::read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (yama.starts_with('1')) {
    return "this machine lets only ancestors look into a process: sysctl kernel.yama.ptrace_scope=0 as root, or run it "
           "under dlaunch";
  }
  if (!yama.starts_with('0')) {
    return "this machine lets nobody but root look into a process: sysctl kernel.yama.ptrace_scope=1 as root";
  }
  return "it is not dumpable, or has capabilities that we lack: look as root";
}

}  // namespace dlaunch::stacks
