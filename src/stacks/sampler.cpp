#include "stacks/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "stacks/process.h"
#include "stacks/python.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

// limit of lines: a process with many libraries and devices has some 10,000
constexpr std::size_t kLongestMaps = 4u << 20;

std::string proc_path(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + '/' + file; }

std::optional<ThreadStack> look_at_thread(pid_t pid, pid_t tid) {
  const std::string task = "task/" + std::to_string(tid) + '/';
  const auto stat = parse_stat(read_proc(pid, task + "stat"));
  if (!stat) return std::nullopt;
  ThreadStack thread;
  thread.tid = tid;
  thread.name = stat->name;
  thread.state = stat->state;
  thread.wait = read_proc(pid, task + "wchan");
  if (thread.wait == "0") thread.wait.clear();
  return thread;
}

bool is_vfork(std::string_view wait) {
  return wait == "kernel_clone" || wait == "wait_for_vfork_done" || wait.ends_with("do_fork");
}

/// A thread in vfork waits for a child, but has the state of a thread that waits for a disk (D). The exec of the child
/// may wait for a disk.
void find_states_in_vfork(Sample& sample) {
  for (ThreadStack& thread : sample.threads) {
    if (!is_vfork(thread.wait)) continue;
    const std::string children = read_proc(sample.pid, "task/" + std::to_string(thread.tid) + "/children");
    const auto words = split(children, ' ');
    const bool for_disk = std::ranges::any_of(words, [](std::string_view child) {
      const pid_t pid = std::atoi(std::string(child).c_str());
      const auto stat = parse_stat(read_proc(pid, "stat"));
      return stat && stat->state == 'D' && !is_vfork(read_proc(pid, "wchan"));
    });
    thread.state = for_disk ? 'D' : 'S';
  }
}

/// The switch counts of the main thread, or of all; empty: a thread runs.
SwitchCounts switch_counts_of(pid_t pid, bool all_threads) {
  SwitchCounts switch_counts;
  const auto add = [&](pid_t tid) {
    auto rest = switch_count_of(pid, tid);
    const bool rests_there = rest.has_value();
    if (rests_there) switch_counts.emplace_back(tid, *std::move(rest));
    return rests_there;
  };
  bool all = add(pid);
  if (all && all_threads) {
    sys::for_each_entry(proc_path(pid, "task"), [&](const dirent& entry) {
      const pid_t tid = std::atoi(entry.d_name);
      all = tid <= 0 || tid == pid || (add(tid) && switch_counts.size() < kMostThreads);
      return all;
    });
  }
  if (!all) switch_counts.clear();
  return switch_counts;
}

/// Fills in the data of /proc that every user may read.
void sample_threads(Sample& sample, const Budget& budget) {
  if (auto main = look_at_thread(sample.pid, sample.pid)) sample.threads.push_back(*std::move(main));
  sys::for_each_entry(proc_path(sample.pid, "task"), [&](const dirent& entry) {
    const pid_t tid = std::atoi(entry.d_name);
    if (tid <= 0 || tid == sample.pid) return true;
    if (auto thread = look_at_thread(sample.pid, tid)) sample.threads.push_back(*std::move(thread));
    return sample.threads.size() < kMostThreads && !budget.used_up();
  });
  for (const ThreadStack& thread : sample.threads) sample.stopped = sample.stopped || thread.state == 'T';
}

struct Runtime {
  std::uint64_t address = 0;
  std::uint32_t version = 0;
  std::string path;  // key: the program or library of the function
};

/// The path of the executed program; empty: unknown.
std::string program_of(pid_t pid) {
  char link[4096];
  const ssize_t size = ::readlink(proc_path(pid, "exe").c_str(), link, sizeof link);
  return {link, size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// CPython is in the program itself or in a library with its name.
std::optional<Runtime> find_runtime(const std::string& program, const std::vector<Mapping>& maps,
                                    const ReadMemory& read) {
  for (const Mapping& mapping : maps) {
    const bool library = mapping.path.find("/libpython") != std::string::npos;
    if (mapping.offset != 0 || (!library && mapping.path != program)) continue;
    const auto symbols = DynamicSymbols::at(read, mapping.start);
    const auto runtime = symbols ? symbols->find(read, "_PyRuntime") : std::nullopt;
    if (runtime) return Runtime{*runtime, find_python_version(read, *symbols), mapping.path};
  }
  return std::nullopt;
}

/// Threads are found by number. After a fork, the only thread may still have the number of the parent's thread.
void join(Sample& sample, std::vector<PythonThread> stacks) {
  const bool only = stacks.size() == 1;
  for (PythonThread& stack : stacks) {
    auto thread = std::ranges::find(sample.threads, static_cast<pid_t>(stack.native_id), &ThreadStack::tid);
    if (thread == sample.threads.end() && only) thread = sample.threads.begin();
    if (thread == sample.threads.end()) continue;  // ended meanwhile
    thread->python = std::move(stack.frames);
    thread->locals_hash = stack.locals_hash;
  }
}

bool is_of_the_c_library(const Frame& frame) {
  const std::string_view name = std::string_view(frame.file).substr(frame.file.rfind('/') + 1);
  return name.starts_with("libc.") || name.starts_with("ld-") || name == "[vdso]";
}

bool has_no_name(const Frame& frame) { return frame.function.starts_with("0x"); }

/// Keeps the frames that Python called, without the interpreter, the C library and functions without a name. Python's
/// own frames explain the left-out frames, which in a computing thread would differ between samples.
void keep_what_python_called(ThreadStack& thread, const std::string& interpreter) {
  auto& frames = thread.native;
  if (thread.state == 'R' && !thread.in_call) frames.clear();
  frames.erase(std::ranges::find(frames, interpreter, &Frame::file), frames.end());
  std::erase_if(frames, [](const Frame& frame) { return is_of_the_c_library(frame) || has_no_name(frame); });
}

void drop_frames(ThreadStack& thread) {
  thread.native.clear();
  thread.python.clear();
  thread.in_call = false;
  thread.locals_hash = 0;
  thread.timed_out = true;
}

/// Drops data that was read after the end of the budget.
void drop_frames_from(Sample& sample, std::size_t first) {
  for (std::size_t i = first; i < sample.threads.size(); ++i) drop_frames(sample.threads[i]);
}

/// A thread that this process stopped ran because of the stop.
void rest_again(SwitchCounts& switch_counts, pid_t tid, const std::optional<SwitchCount>& rest) {
  const auto known = std::ranges::find(switch_counts, tid, &SwitchCounts::value_type::first);
  if (known == switch_counts.end()) return;
  if (!rest) return switch_counts.clear();
  known->second = *rest;
}

void sample_native(Sample& sample, Modules& modules, const std::string& interpreter, const Sampler& sampler,
                   Budget& budget, SwitchCounts& switch_counts) {
  if (sample.traced || sample.stopped) return;
  for (std::size_t i = 0; i < sample.threads.size(); ++i) {
    ThreadStack& thread = sample.threads[i];
    NativeStack stack = native_stack(modules, thread.tid, thread.state, budget);
    if (stack.stopped) rest_again(switch_counts, thread.tid, stack.rest);
    if (!budget.keep(bytes_of(stack.frames)) || budget.used_up()) return drop_frames_from(sample, i);
    thread.native = std::move(stack.frames);
    thread.in_call = stack.in_call;
    thread.locals_hash = thread.locals_hash * 31 + stack.callers_hash;
    if (!thread.python.empty()) keep_what_python_called(thread, interpreter);
    if (!sampler.all_threads) return;
  }
}

/// Empty if the budget is used up.
std::vector<Mapping> maps_of(pid_t pid, Budget& budget) {
  auto maps = parse_maps(read_proc(pid, "maps", kLongestMaps));
  std::size_t bytes = maps.capacity() * sizeof(Mapping);
  for (const Mapping& mapping : maps) bytes += mapping.path.capacity() + mapping.file.capacity();
  if (!budget.keep(bytes)) maps.clear();
  return maps;
}

void sample_frames(Sample& sample, const std::string& program, Sampler& sampler, Budget& budget,
                   SwitchCounts& switch_counts) {
  ProcessMemory memory(sample.pid, budget);
  const auto maps = maps_of(sample.pid, budget);
  const ReadMemory read = memory.reader();
  char byte = 0;
  const bool readable = !maps.empty() && read(maps.front().start, {&byte, 1});
  if (budget.used_up()) return drop_frames_from(sample, 0);
  if (maps.empty() || memory.denied() != 0) {
    if (!readable) sample.remarks.push_back("the stacks of this process cannot be read: " + why_denied(sample.pid));
    return;
  }
  const auto runtime = find_runtime(program, maps, read);
  if (budget.used_up()) return drop_frames_from(sample, 0);
  if (runtime) {
    sample.python = true;
    PythonStacks stacks = read_python(read, runtime->address, runtime->version, budget);
    if (budget.used_up()) return drop_frames_from(sample, 0);
    if (!stacks.trouble.empty()) sample.remarks.push_back(stacks.trouble);
    join(sample, std::move(stacks.threads));
  }
  Modules modules(sample.pid, maps, read, sampler.names, sampler.caches.modules, budget);
  sample_native(sample, modules, runtime ? runtime->path : "", sampler, budget, switch_counts);
  if (sampler.names.left_out())
    sample.remarks.emplace_back("some function names are left out: the names need too much memory");
}

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

constexpr int kKeptSamplings = 16;
constexpr std::size_t kOfAnEntry = 64;  // memory of an entry of the map
constexpr std::size_t kOfACount = 128;  // memory of a switch count, without its texts

}  // namespace

void drop_frames(Sample& sample) {
  drop_frames_from(sample, 0);
  sample.remarks.emplace_back(
      "there was not enough memory to read the stacks of this process, because other processes used the memory");
}

Sample take(pid_t pid, Sampler& sampler) {
  Sample sample;
  sample.pid = pid;
  if (!sampler.own_pids) return sample;  // /proc/PID is a different process
  const auto before = parse_stat(read_proc(pid, "stat"));
  if (!before || before->state == 'Z') return sample;
  SwitchCounts switch_counts = switch_counts_of(pid, sampler.all_threads);
  const Sample* known = sampler.caches.samples.find(pid, before->start_time, switch_counts, sampler.all_threads);
  if (known != nullptr) sample = *known;
  sample.cpu_ms = cpu_of(*before);
  sample.io_bytes = io_of(pid).value_or(-1);
  sample.traced = number_of(read_proc(pid, "status"), "TracerPid").value_or(0) != 0;
  find_states_in_vfork(sample);
  if (known != nullptr) return sample;
  sample.command = command_of(read_proc(pid, "cmdline", 4096), before->name);
  Budget budget(Sampler::kOfAProcess, sampler.deadline, sampler.budget);
  sample_threads(sample, budget);
  const std::string program = program_of(pid);
  sample_frames(sample, program, sampler, budget, switch_counts);
  if (program_of(pid) != program) drop_frames_from(sample, 0);  // the mappings belong to the earlier program
  find_states_in_vfork(sample);                                 // not before: the frames need the kernel's state
  const auto after = parse_stat(read_proc(pid, "stat"));
  if (!after || after->start_time != before->start_time || after->state == 'Z') sample.threads.clear();
  const bool timed_out = std::ranges::any_of(sample.threads, &ThreadStack::timed_out);
  if (timed_out) {
    const std::string missing = budget.out_of_memory() ? "memory" : "time";
    sample.remarks.push_back("there was not enough " + missing + " to read the stacks of all threads");
  }
  const bool whole = sample.alive() && sample.remarks.empty() && !sample.traced && !sample.stopped;
  // A process with one thread has no further frames.
  const bool all_threads = sampler.all_threads || sample.threads.size() == 1;
  if (whole) sampler.caches.samples.keep(sample, before->start_time, std::move(switch_counts), all_threads);
  return sample;
}

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

void SampleCache::begin_sampling() {
  ++look_;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->second.look + kKeptSamplings < look_) forget(entry);
    entry = next;
  }
}

void SampleCache::forget(std::map<pid_t, Entry>::iterator entry) {
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void SampleCache::keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads) {
  if (const auto old = entries_.find(sample.pid); old != entries_.end()) forget(old);
  std::size_t bytes = sizeof(Entry) + kOfAnEntry + bytes_of(sample);
  for (const auto& [tid, count] : switch_counts) bytes += kOfACount + count.counts.capacity() + count.call.capacity();
  // A large sample must not use the memory of the others.
  if (switch_counts.empty() || bytes > most_ / 8 || bytes > most_ - bytes_) return;
  bytes_ += bytes;
  entries_.emplace(sample.pid, Entry{start_time, std::move(switch_counts), all_threads, look_, sample, bytes});
}

const Sample* SampleCache::find(pid_t pid, std::uint64_t start_time, const SwitchCounts& switch_counts,
                                bool all_threads) {
  const auto found = entries_.find(pid);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  if (switch_counts.empty() || entry.start_time != start_time || (all_threads && !entry.all_threads)) return nullptr;
  if (all_threads ? entry.switch_counts != switch_counts : entry.switch_counts.front() != switch_counts.front())
    return nullptr;
  entry.look = look_;
  return &entry.sample;
}

}  // namespace dlaunch::stacks
