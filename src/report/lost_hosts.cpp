#include "report/lost_hosts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "report/lines.h"

namespace dlaunch::report {

std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed) {
  Lines lines;
  const std::string after = " after " + duration_text(elapsed);
  if (lost.size() == 1) {
    const std::string what = started ? "a host was lost" + after : "cannot use a host";
    lines.add(what + ": " + lost[0].name + ": " + std::string(trim(lost[0].why)));
    lines.add_hint(lost[0].hint);
    return lines.take();
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_reason;
  for (const job::LostHost& host : lost) by_reason[{host.why, host.hint}].push_back(host.name);
  std::vector<std::pair<size_t, decltype(by_reason)::const_iterator>> order;
  for (auto it = by_reason.cbegin(); it != by_reason.cend(); ++it) order.emplace_back(it->second.size(), it);
  std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
  const std::string hosts = std::to_string(lost.size()) + " hosts";
  lines.add(started ? hosts + " were lost" + after + ":" : "cannot use " + hosts + ":");
  for (const auto& [size, reason] : order) {
    lines.add(fold_names(reason->second) + ": " + std::string(trim(reason->first.first)));
    lines.add_hint(reason->first.second);
  }
  return lines.take();
}

/// The command kills the job's control groups first, then each process with the job's id in its environment. Three
/// passes: a later pass finds processes that were forked during an earlier pass, and removes groups that became empty.
std::string end_job_command(const std::string& job_id, const std::string& shell_there) {
  return "echo 'for i in 1 2 3; do for c in $(find /sys/fs/cgroup -name \"dlaunch-" + job_id +
         "-*\"); do echo 1 >$c/cgroup.kill; rmdir $c; done; for e in $(grep -lzxF DLAUNCH_JOB_ID=" + job_id +
         " /proc/[0-9]*/environ); do e=${e#/proc/}; kill -KILL ${e%/*}; done; done 2>/dev/null' | " + shell_there;
}

}  // namespace dlaunch::report
