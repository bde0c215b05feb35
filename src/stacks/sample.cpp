#include "stacks/sample.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "stacks/denied.h"
#include "stacks/elf.h"
#include "stacks/memory.h"
#include "stacks/native.h"
#include "stacks/proc.h"
#include "stacks/python.h"
#include "sys/directory.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kLongestMaps = 8u << 20;  // a process with many libraries and devices has some 10,000 lines
constexpr std::int64_t kUsedCpu = 1000;         // milliseconds, for a descendant to matter

std::string proc_path(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + '/' + file; }

std::string read_proc(pid_t pid, const std::string& file, std::size_t limit = 64u << 10) {
  return sys::read_file(proc_path(pid, file), limit).value_or("");
}

std::int64_t milliseconds(std::uint64_t ticks) {
  static const auto kTicksPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::int64_t>(ticks * 1000 / kTicksPerSecond);
}

std::optional<std::int64_t> io_of(pid_t pid) {
  const std::string text = read_proc(pid, "io");
  const auto read = number_of(text, "rchar");
  const auto written = number_of(text, "wchar");
  if (!read || !written) return std::nullopt;
  return *read + *written;
}

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

/// Fills all that /proc tells to everybody.
void look_at_threads(Sample& sample, Time deadline) {
  if (auto main = look_at_thread(sample.pid, sample.pid)) sample.threads.push_back(*std::move(main));
  sys::for_each_entry(proc_path(sample.pid, "task"), [&](const dirent& entry) {
    const pid_t tid = std::atoi(entry.d_name);
    if (tid <= 0 || tid == sample.pid) return true;
    if (auto thread = look_at_thread(sample.pid, tid)) sample.threads.push_back(*std::move(thread));
    return sample.threads.size() < kMostThreads && Clock::now() < deadline;
  });
  for (const ThreadStack& thread : sample.threads) sample.stopped = sample.stopped || thread.state == 'T';
}

struct Runtime {
  std::uint64_t address = 0;
  std::uint32_t version = 0;
  std::string path;  // of the program or library that it is in
};

/// CPython is in the program itself or in a library of its name.
std::optional<Runtime> find_runtime(pid_t pid, const std::vector<Mapping>& maps, const ReadMemory& read) {
  char link[4096];
  const ssize_t size = ::readlink(proc_path(pid, "exe").c_str(), link, sizeof link);
  const std::string program(link, size > 0 ? static_cast<std::size_t>(size) : 0);
  for (const Mapping& mapping : maps) {
    const bool library = mapping.path.find("/libpython") != std::string::npos;
    if (mapping.offset != 0 || (!library && mapping.path != program)) continue;
    const auto symbols = DynamicSymbols::at(read, mapping.start);
    const auto runtime = symbols ? symbols->find(read, "_PyRuntime") : std::nullopt;
    if (runtime) return Runtime{*runtime, find_python_version(read, *symbols), mapping.path};
  }
  return std::nullopt;
}

/// A thread is found by its number. After a fork the only one may still have that of the parent.
void join(Sample& sample, std::vector<PythonThread> stacks) {
  const bool only = stacks.size() == 1;
  for (PythonThread& stack : stacks) {
    auto thread = std::ranges::find(sample.threads, static_cast<pid_t>(stack.native_id), &ThreadStack::tid);
    if (thread == sample.threads.end() && only) thread = sample.threads.begin();
    if (thread == sample.threads.end()) continue;  // it ended meanwhile
    thread->python = std::move(stack.frames);
    thread->locals_hash = stack.locals_hash;
  }
}

bool is_of_the_c_library(const Frame& frame) {
  const std::string_view name = std::string_view(frame.file).substr(frame.file.rfind('/') + 1);
  return name.starts_with("libc.") || name.starts_with("ld-") || name == "[vdso]";
}

bool has_no_name(const Frame& frame) { return frame.function.starts_with("0x"); }

/// What Python has called, less the interpreter, the C library and what has no name: Python's own frames tell what
/// those are there for. In a thread that computes they would differ from one look to the next.
void keep_what_python_called(ThreadStack& thread, const std::string& interpreter) {
  auto& frames = thread.native;
  if (thread.state == 'R' && !thread.in_call) frames.clear();
  frames.erase(std::ranges::find(frames, interpreter, &Frame::file), frames.end());
  std::erase_if(frames, [](const Frame& frame) { return is_of_the_c_library(frame) || has_no_name(frame); });
}

void look_at_native(Sample& sample, const NativeProcess& process, const std::string& interpreter, const Look& look) {
  if (sample.traced || sample.stopped) return;
  for (ThreadStack& thread : sample.threads) {
    NativeStack stack = native_stack(process, thread.tid, thread.state, look.deadline);
    thread.native = std::move(stack.frames);
    thread.in_call = stack.in_call;
    thread.locals_hash = thread.locals_hash * 31 + stack.callers_hash;
    if (!thread.python.empty()) keep_what_python_called(thread, interpreter);
    if (!look.all_threads) return;
  }
}

void look_at_frames(Sample& sample, Look& look) {
  ProcessMemory memory(sample.pid, look.deadline);
  const auto maps = parse_maps(read_proc(sample.pid, "maps", kLongestMaps));
  const ReadMemory read = memory.reader();
  char byte = 0;
  const bool readable = !maps.empty() && read(maps.front().start, {&byte, 1});
  if (maps.empty() || memory.denied() != 0) {
    if (!readable) sample.remarks.push_back("its stacks cannot be read: " + why_denied(sample.pid));
    return;
  }
  const auto runtime = find_runtime(sample.pid, maps, read);
  if (runtime) {
    sample.python = true;
    PythonStacks stacks = read_python(read, runtime->address, runtime->version);
    if (!stacks.trouble.empty()) sample.remarks.push_back(stacks.trouble);
    join(sample, std::move(stacks.threads));
  }
  look_at_native(sample, {sample.pid, maps, read, look.names}, runtime ? runtime->path : "", look);
}

std::int64_t cpu_of(pid_t pid) {
  const auto stat = parse_stat(read_proc(pid, "stat"));
  return stat ? milliseconds(stat->ticks) : 0;
}

/// The one child for which a process waits, as a shell does; 0: it does not.
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

}  // namespace

Sample take(pid_t pid, Look& look) {
  Sample sample;
  sample.pid = pid;
  const auto before = parse_stat(read_proc(pid, "stat"));
  if (!before || before->state == 'Z') return sample;
  sample.command = command_of(read_proc(pid, "cmdline", 4096));
  if (sample.command.empty()) sample.command = before->name;
  sample.cpu_ms = milliseconds(before->ticks);
  sample.io_bytes = io_of(pid).value_or(-1);
  sample.traced = number_of(read_proc(pid, "status"), "TracerPid").value_or(0) != 0;
  look_at_threads(sample, look.deadline);
  look_at_frames(sample, look);
  const auto after = parse_stat(read_proc(pid, "stat"));
  if (!after || after->start_time != before->start_time || after->state == 'Z') sample.threads.clear();
  return sample;
}

Tree take_tree(pid_t pid, Look& look) {
  const Time deadline = look.deadline;
  const auto take_one = [&](pid_t at) {
    look.deadline = std::min(deadline, Clock::now() + kLongestSample);
    Sample sample = take(at, look);
    look.deadline = deadline;
    return sample;
  };
  Tree tree;
  tree.processes.push_back(take_one(pid));
  if (!tree.processes.front().alive()) return tree;
  tree.cpu_ms = tree.processes.front().cpu_ms;
  tree.io_bytes = tree.processes.front().io_bytes;
  if (look.processes.empty()) look.processes = sys::all_processes();
  const auto descendants = sys::descendants_of(pid, look.processes);
  pid_t awaited = only_child(tree.processes.front(), descendants);
  for (const sys::Process& process : descendants) {
    tree.cpu_ms += cpu_of(process.pid);
    if (const auto io = io_of(process.pid)) tree.io_bytes = std::max<std::int64_t>(tree.io_bytes, 0) + *io;
    if (tree.processes.size() == kMostProcesses || Clock::now() >= deadline) continue;
    Sample sample = take_one(process.pid);
    if (!sample.alive()) continue;
    const bool is_awaited = process.pid == awaited;
    if (!is_awaited && !matters(sample)) continue;
    if (is_awaited) awaited = only_child(sample, descendants);
    if (!tree.processes[tree.shown].python && (sample.python || is_awaited)) tree.shown = tree.processes.size();
    tree.processes.push_back(std::move(sample));
  }
  return tree;
}

}  // namespace dlaunch::stacks
