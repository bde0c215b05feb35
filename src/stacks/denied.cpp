#include "stacks/denied.h"

#include <unistd.h>

#include "stacks/proc.h"
#include "sys/files.h"

namespace dlaunch::stacks {

std::string why_denied(pid_t pid) {
  const auto status = sys::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const auto uid = number_of(status, "Uid");
  if (uid && *uid != static_cast<std::int64_t>(::geteuid())) {
    return "the process belongs to user " + std::to_string(*uid) + ": run this command as that user or as root";
  }
  const auto yama = sys::read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (yama.starts_with('1')) {
    return "this machine allows only ancestors to trace a process: run sysctl kernel.yama.ptrace_scope=0 as root, or "
           "start "
           "the program with dlaunch";
  }
  if (!yama.starts_with('0')) {
    return "this machine allows only root to trace a process: run sysctl kernel.yama.ptrace_scope=1 as root";
  }
  return "the process is not dumpable, or has more capabilities than dlaunch: run this command as root";
}

}  // namespace dlaunch::stacks
