#include "sys/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <string_view>

#include "base/text.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::sys {
namespace {

constexpr size_t kMostCgroups = 100000;  // limit: a user may create any number of groups below a delegated group
constexpr size_t kLongestList = 64u << 20;
constexpr long kMostPids = 1L << 30;

/// A process of another PID namespace reads as 0.
std::set<int> pids_in(const std::string& cgroup) {
  std::set<int> pids;
  for (const std::string& line : split(read_file(cgroup + "/cgroup.procs", kLongestList).value_or(""), '\n')) {
    if (const auto pid = parse_int(line, 1, kMostPids)) pids.insert(static_cast<int>(*pid));
  }
  return pids;
}

}  // namespace

std::optional<std::string> cgroup_mount() {
  for (const char* const path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs facts{};
    if (::statfs(path, &facts) == 0 && facts.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return std::nullopt;
}

std::optional<std::string> own_cgroup() {
  constexpr std::string_view kKey = "0::";
  const auto mount = cgroup_mount();
  if (!mount) return std::nullopt;
  for (const std::string& line : split(read_file("/proc/self/cgroup").value_or(""), '\n')) {
    if (line.starts_with(kKey)) return *mount + (line == "0::/" ? "" : line.substr(kKey.size()));
  }
  return std::nullopt;
}

std::vector<std::string> cgroups_in(const std::string& cgroup) {
  std::vector<std::string> found;
  for_each_entry(cgroup, [&](const dirent& entry) {
    if (entry.d_type == DT_DIR) found.push_back(cgroup + '/' + entry.d_name);
    return true;
  });
  return found;
}

std::vector<std::string> cgroup_tree(const std::string& cgroup) {
  std::vector<std::string> tree = {cgroup};
  for (size_t next = 0; next < tree.size() && tree.size() < kMostCgroups; ++next) {
    for (std::string& child : cgroups_in(tree[next])) tree.push_back(std::move(child));
  }
  return tree;
}

/// The start time of each process is read before its membership is read again, to detect a reused pid.
std::vector<Process> processes_in(const std::string& cgroup) {
  std::vector<Process> found;
  for (const std::string& group : cgroup_tree(cgroup)) {
    std::vector<Process> candidates;
    for (const int pid : pids_in(group)) {
      if (auto process = find_process(pid)) candidates.push_back(std::move(*process));
    }
    if (candidates.empty()) continue;
    const std::set<int> still = pids_in(group);
    for (Process& process : candidates) {
      if (still.contains(process.pid)) found.push_back(std::move(process));
    }
  }
  return found;
}

void kill_cgroup(const std::string& cgroup) {
  const Fd kill(::open((cgroup + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  const bool killed = kill && write_all(kill.get(), "1");
  for (const Process& process : processes_in(cgroup)) {
    // The kernel sends KILL to the main threads. A main thread that has ended ignores it.
    if (!killed || process.main_ended) signal_process(process, SIGKILL);
  }
}

bool remove_cgroup(const std::string& cgroup) {
  if (::rmdir(cgroup.c_str()) == 0 || errno == ENOENT) return true;
  const auto tree = cgroup_tree(cgroup);
  for (auto group = tree.rbegin(); group != tree.rend(); ++group) ::rmdir(group->c_str());
  return ::access(cgroup.c_str(), F_OK) != 0;
}

}  // namespace dlaunch::sys
