#include "stacks/switch_count.h"

#include <utility>

#include "stacks/proc.h"
#include "sys/files.h"

namespace dlaunch::stacks {

std::optional<SwitchCount> switch_count_of(pid_t pid, pid_t tid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  // before the call, as required by the contract
  const std::string status = sys::read_file(task + "/status").value_or("");
  const auto own = number_of(status, "voluntary_ctxt_switches");
  const auto others = number_of(status, "nonvoluntary_ctxt_switches");
  if (!own || !others) return std::nullopt;
  std::string call = sys::read_file(task + "/syscall", 4096).value_or("");
  const auto parsed = parse_system_call(call);
  if (!parsed || parsed->running) return std::nullopt;
  return SwitchCount{std::to_string(*own) + ' ' + std::to_string(*others), std::move(call)};
}

std::optional<std::int64_t> waits_of_running(pid_t pid, pid_t tid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  const auto call = parse_system_call(sys::read_file(task + "/syscall", 4096).value_or(""));
  if (!call || !call->running) return std::nullopt;
  return number_of(sys::read_file(task + "/status").value_or(""), "voluntary_ctxt_switches");
}

}  // namespace dlaunch::stacks
