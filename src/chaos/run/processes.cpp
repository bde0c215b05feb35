#include "chaos/run/processes.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/shared_texts.h"
#include "base/time.h"
#include "sys/files.h"

namespace dlaunch::chaos {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::milliseconds kExec{500};  // during execve(2) a process shows no environment
constexpr std::chrono::milliseconds kLookAgain{10};

/// Agents name their files after the job.
void add_files_left(const std::string& where, const std::string& job_id, std::vector<std::string>& left) {
  sys::for_each_entry(where, [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (name.starts_with("dlaunch-") && name.find(job_id) != std::string_view::npos) {
      left.push_back(where + '/' + entry.d_name);
    }
    return true;
  });
}

}  // namespace

std::optional<sys::Process> rank_process(const report::Record& record, int rank) {
  const auto index = static_cast<size_t>(rank);
  if (index >= record.ranks.size() || record.ranks[index].end.pid == 0) return std::nullopt;
  const int pid = record.ranks[index].end.pid;
  const Time until = Clock::now() + kExec;
  for (;;) {
    const auto own = sys::processes_with({rank_mark(record.job_id), "DLAUNCH_RANK=" + std::to_string(rank)});
    const auto found = std::ranges::find(own, pid, &sys::Process::pid);
    if (found != own.end()) return *found;
    const auto there = sys::find_process(pid);
    if (!there || there->state == 'Z' || Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(kLookAgain);
  }
}

std::vector<sys::Process> agent_processes(const report::Record& record, const std::string& host) {
  for (const report::RecordedRank& rank : record.ranks) {
    if (rank.host != host) continue;
    const auto process = rank_process(record, rank.rank);
    const auto worker = process ? sys::find_process(process->parent) : std::nullopt;
    const auto guardian = worker ? sys::find_process(worker->parent) : std::nullopt;
    if (guardian) return {*guardian, *worker};
  }
  return {};
}

std::vector<sys::Process> agent_processes(int pid) {
  std::vector<sys::Process> found;
  if (const auto guardian = sys::find_process(pid)) found.push_back(*guardian);
  for (const sys::Process& each : sys::descendants_of(pid, sys::all_processes())) {
    if (each.parent == pid) found.push_back(each);
  }
  return found;
}

std::vector<std::string> left_of(const std::string& job_id, std::chrono::seconds patience) {
  const Time until = Clock::now() + patience;
  for (;;) {
    std::vector<std::string> left;
    for (const sys::Process& each : sys::processes_with({rank_mark(job_id)})) {
      if (each.state != 'Z') left.push_back(sys::describe(each));
    }
    const char* const temporary = std::getenv("TMPDIR");
    add_files_left(temporary && *temporary != '\0' ? temporary : "/tmp", job_id, left);
    add_files_left("/dev/shm", job_id, left);
    if (left.empty() || Clock::now() >= until) return left;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace dlaunch::chaos
