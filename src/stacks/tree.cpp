#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "stacks/counters.h"
#include "stacks/sample_bytes.h"
#include "stacks/sampler.h"

namespace dlaunch::stacks {
namespace {

constexpr std::chrono::seconds kLongestSample{1};
constexpr std::int64_t kUsedCpu = 1000;  // milliseconds of CPU time above which a descendant is shown

/// The one child for which a process waits, as a shell does; 0: none.
pid_t only_child(const Sample& parent, const std::vector<sys::Process>& processes) {
  const ThreadStack& main = parent.threads.front();
  const bool waits = main.wait.empty() ? main.state == 'S' && parent.threads.size() == 1 : main.wait == "do_wait";
  if (!waits) return 0;
  if (std::ranges::count(processes, parent.pid, &sys::Process::parent) != 1) return 0;
  return std::ranges::find(processes, parent.pid, &sys::Process::parent)->pid;
}

bool matters(const Sample& sample) {
  return sample.python || sample.cpu_ms >= kUsedCpu || sample.threads.front().state == 'R';
}

std::vector<sys::Process> descendants_of(pid_t pid, Sampler& sampler) {
  if (auto listed = sys::listed_descendants_of(pid)) return *std::move(listed);
  if (sampler.processes.empty()) sampler.processes = sys::all_processes();
  return sys::descendants_of(pid, sampler.processes);
}

/// Charges the memory. Above the limit, without frames.
void add(Tree& tree, Sample sample, Sampler& sampler) {
  if (!sampler.budget.keep(bytes_of(sample))) drop_frames(sample);
  tree.processes.push_back(std::move(sample));
}

void count(Tree& tree, std::int64_t cpu_ms, std::int64_t io_bytes) {
  tree.cpu_ms += cpu_ms;
  if (io_bytes >= 0) tree.io_bytes = std::max<std::int64_t>(tree.io_bytes, 0) + io_bytes;
}

}  // namespace

Tree take_tree(pid_t pid, Sampler& sampler) {
  const Time deadline = sampler.deadline;
  const auto take_one = [&](pid_t at) {
    sampler.deadline = std::min(deadline, Clock::now() + kLongestSample);
    Sample sample = take(at, sampler);
    sampler.deadline = deadline;
    return sample;
  };
  Tree tree;
  add(tree, take_one(pid), sampler);
  if (!tree.processes.front().alive()) return tree;
  count(tree, tree.processes.front().cpu_ms, tree.processes.front().io_bytes);
  const auto descendants = descendants_of(pid, sampler);
  pid_t awaited = only_child(tree.processes.front(), descendants);
  for (const sys::Process& process : descendants) {
    const bool late = Clock::now() >= deadline;
    tree.timed_out = tree.timed_out || late;
    Sample sample;
    if (!late && tree.processes.size() < kMostProcesses) sample = take_one(process.pid);
    if (!sample.alive()) {
      count(tree, cpu_of(process.pid), io_of(process.pid).value_or(-1));
      continue;
    }
    count(tree, sample.cpu_ms, sample.io_bytes);
    const bool is_awaited = process.pid == awaited;
    if (!is_awaited && !matters(sample)) continue;
    if (is_awaited) awaited = only_child(sample, descendants);
    if (!tree.processes[tree.shown].python && (sample.python || is_awaited)) tree.shown = tree.processes.size();
    add(tree, std::move(sample), sampler);
  }
  // A main thread after the deadline has no frames; unknown Python is not shown.
  for (const Sample& sample : tree.processes) tree.timed_out = tree.timed_out || sample.threads.front().timed_out;
  return tree;
}

}  // namespace dlaunch::stacks
