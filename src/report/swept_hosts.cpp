#include "report/swept_hosts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/lost_hosts.h"

namespace dlaunch::report {
namespace {

constexpr size_t kMostCommands = 4;  // commands shown in full

std::vector<plan::Host> unswept_hosts(const Summary& s, bool of_earlier_rounds) {
  std::vector<plan::Host> hosts;
  for (const job::Unswept& each : s.outcome.unswept) {
    hosts.push_back(s.plan.hosts.at(static_cast<size_t>(each.host)).host);
  }
  if (of_earlier_rounds) hosts.insert(hosts.end(), s.unswept_before.begin(), s.unswept_before.end());
  return hosts;
}

const plan::Host& host_of(const Summary& s, int host) { return s.plan.hosts.at(static_cast<size_t>(host)).host; }

}  // namespace

void add_swept(const Summary& s, Lines& lines) {
  const auto names = [&](const std::vector<int>& hosts) {
    std::vector<std::string> found;
    for (const int host : hosts) found.push_back(host_of(s, host).name);
    return fold_names(found);
  };
  if (!s.outcome.swept.empty()) {
    lines.add("no process with the job's environment or control group is left on " + names(s.outcome.swept) +
              " (dlaunch connected again)");
  }
  const std::string ended = names(s.outcome.ended_by_manager);
  if (ended.empty()) return;
  lines.add(s.plan.manager
                ? "the batch system ends the remaining processes on " + ended + " (dlaunch cannot connect again)"
                : "dlaunch on " + ended + " ends the remaining processes there (this dlaunch cannot connect again)");
}

void add_unswept(const Summary& s, bool of_earlier_rounds, Lines& lines) {
  const std::vector<plan::Host> hosts = unswept_hosts(s, of_earlier_rounds);
  if (hosts.empty()) return;
  std::vector<std::string> names;
  for (const plan::Host& host : hosts) names.push_back(host.name);
  const bool one = names.size() == 1;
  lines.add("processes of the job may still run on " + fold_names(names) +
            (one ? "; this command kills them:" : "; these commands kill them:"));
  for (size_t i = 0; i < std::min(names.size(), kMostCommands); ++i) {
    lines.add("  " + end_job_command(s.plan.job_id, s.shell_there ? s.shell_there(hosts[i]) : "sh"));
  }
  if (names.size() > kMostCommands)
    lines.add("  and the same for " + count(names.size() - kMostCommands, "other host"));
}

}  // namespace dlaunch::report
