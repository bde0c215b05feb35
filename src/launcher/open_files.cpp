#include "launcher/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "plan/spawn_plan.h"
#include "sys/inherited.h"

namespace dlaunch::launcher {
namespace {

constexpr std::uint64_t kOfOurOwn = 64;       // loop, console, libraries
constexpr std::uint64_t kBeingReached = 128;  // descriptors of connections only while they are being opened
constexpr rlim_t kLeastFile = 4U << 10U;      // shared memory of dlaunch's processes
constexpr std::uint64_t kForRankHere = 3;     // in launcher or agent: stdout, stderr and stdin
constexpr std::uint64_t kByCommand = 3;       // the link, the command's stderr, the command's pidfd
constexpr std::uint64_t kBySsh = 6;  // the link, the thread's end of the link, two of the socket, two of stderr

/// The launcher's output files. A process without other open files writes the files, and holds the locks of the files
/// that the ranks write.
std::uint64_t files_of_rank(const output::OutputSettings& output) {
  if (!output.files) return 0;
  return output.pty || output.merge_stderr ? 1 : 2;
}

Error too_few(const std::string& required_by, std::uint64_t need, std::uint64_t allowed) {
  return {"ulimit -n", "too few open files",
          required_by + ' ' + std::to_string(need) + ", the hard limit is " + std::to_string(allowed),
          "set ulimit -Hn " + std::to_string(need) + " (as root), or LimitNOFILE= of the service"};
}

std::vector<int> ranks_of_hosts(const plan::Plan& plan) {
  std::vector<int> ranks;
  for (const plan::PlannedHost& planned : plan.hosts) ranks.push_back(static_cast<int>(planned.ranks.size()));
  return ranks;
}

}  // namespace

std::uint64_t open_files_needed(const plan::Plan& plan, const std::vector<int>& ranks_of_host,
                                const output::OutputSettings& output, RemoteTransport way) {
  std::uint64_t need = kOfOurOwn + (plan.sidecar ? kForRankHere : 0);
  std::uint64_t files = 0;
  bool elsewhere = false;
  for (size_t host = 0; host < ranks_of_host.size(); ++host) {
    const auto ranks = static_cast<std::uint64_t>(ranks_of_host[host]);
    const bool open = host < plan.hosts.size() && !plan.hosts[host].unreachable;
    if (!open && ranks == 0) continue;
    if (plan::host_at(plan, host).local) {
      need += ranks * kForRankHere;
    } else {
      elsewhere = true;
      need += way == RemoteTransport::ssh ? kBySsh : kByCommand;
    }
    files += ranks * files_of_rank(output);
  }
  if (elsewhere) need += kBeingReached;
  return std::max(need, files == 0 ? 0 : kOfOurOwn + files);
}

std::optional<Error> too_few_open_files(const plan::Plan& plan, std::uint64_t need, std::uint64_t allowed) {
  if (allowed >= need) return std::nullopt;
  const size_t hosts = plan.hosts.size();
  const std::string on_hosts = hosts > 1 ? " on " + std::to_string(hosts) + " hosts" : "";
  return too_few(std::to_string(plan.ranks.size()) + " ranks" + on_hosts + " require", need, allowed);
}

Result<void> check_least_limits() {
  rlimit size{};
  if (::getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < kLeastFile) {
    return fail(
        {"ulimit -f", "limit of the file size too low",
         "dlaunch requires " + std::to_string(kLeastFile) + " bytes, the limit is " + std::to_string(size.rlim_cur),
         "set a higher limit with ulimit -f, or LimitFSIZE= of the service"});
  }
  const std::uint64_t allowed = sys::most_open_files();
  if (allowed >= kOfOurOwn) return {};
  return fail(too_few("dlaunch requires", kOfOurOwn, allowed));
}

Result<void> check_open_files(const plan::Plan& plan, const std::vector<int>& ranks_of_host,
                              const JobOptions& options) {
  const RemoteTransport way = options.exec.empty() ? RemoteTransport::ssh : RemoteTransport::command;
  const std::uint64_t need = open_files_needed(plan, ranks_of_host, options.output, way);
  if (auto error = too_few_open_files(plan, need, sys::open_files_limit())) return fail(*std::move(error));
  return {};
}

Result<void> check_open_files(const plan::Plan& plan, const JobOptions& options) {
  return check_open_files(plan, ranks_of_hosts(plan), options);
}

}  // namespace dlaunch::launcher
