#include "stacks/native.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "stacks/demangle.h"
#include "stacks/process.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kStackBytes = 128u << 10;
constexpr std::size_t kPage = 4096;
constexpr std::chrono::milliseconds kLetGo{500};  // after a thread that did not stop in time
constexpr useconds_t kLookAgain = 20;             // microseconds

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  return text.starts_with("0x") ? whole_number<std::uint64_t>(text.substr(2), 16) : std::nullopt;
}

#if defined(__x86_64__)
// The kernel's value of a call to repeat, unless a signal handler runs: then the program gets EINTR.
constexpr long long kRestartWithoutHandler = -514;  // ERESTARTNOHAND

/// The thread was running when it was chosen, but may have entered a call that a stop interrupts, or be in the return
/// from one. The new result makes the kernel repeat the call.
void repeat_interrupted_call(pid_t tid, user_regs_struct raw) {
  const bool interrupted = static_cast<long long>(raw.orig_rax) >= 0 && static_cast<long long>(raw.rax) == -EINTR;
  if (!interrupted || !may_be_repeated(static_cast<long>(raw.orig_rax))) return;
  raw.rax = static_cast<unsigned long long>(kRestartWithoutHandler);
  iovec from{&raw, sizeof raw};
  ::ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &from);
}

/// In the order of DWARF's numbers (System V psABI for AMD64, figure 3.36).
Registers numbered(pid_t tid, const user_regs_struct& raw) {
  repeat_interrupted_call(tid, raw);
  Registers registers;
  const std::array<unsigned long long, Registers::kCount> values = {
      raw.rax, raw.rdx, raw.rcx, raw.rbx, raw.rsi, raw.rdi, raw.rbp, raw.rsp, raw.r8,
      raw.r9,  raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15, raw.rip};
  for (std::size_t i = 0; i < values.size(); ++i) registers[i] = values.at(i);
  return registers;
}
#else
/// x0 to x30, then the stack pointer (DWARF for the Arm 64-bit Architecture, section 4.1). The kernel cannot repeat an
/// interrupted call: x0 has the result instead of the first argument.
Registers numbered(pid_t, const user_regs_struct& raw) {
  Registers registers;
  std::copy(std::begin(raw.regs), std::end(raw.regs), registers.values.begin());
  registers[Registers::kStackPointer] = raw.sp;
  registers[Registers::kReturnAddress] = raw.pc;
  return registers;
}
#endif

std::optional<Registers> registers_of(pid_t tid) {
  user_regs_struct raw{};
  iovec into{&raw, sizeof raw};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &into) != 0) return std::nullopt;
  return numbered(tid, raw);
}

/// Attached for its lifetime. The loop of the worker may see the stop as a state change of a child.
class Stop {
 public:
  Stop(pid_t tid, Time deadline) : tid_(tid) {
    attached_ = ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0;
    if (!attached_ || ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) return;
    siginfo_t info{};
    while (!(stopped_ = ::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) == 0) && Clock::now() < deadline) {
      ::usleep(kLookAgain);
    }
    if (stopped_ && info.si_code >> 8 != PTRACE_EVENT_STOP) signal_ = info.si_signo;
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  /// A thread that has not stopped yet is released as soon as it stops; after the limit, at the end of this thread.
  ~Stop() {
    const Time until = Clock::now() + kLetGo;
    while (attached_ && ::ptrace(PTRACE_DETACH, tid_, nullptr, static_cast<long>(signal_)) != 0 &&
           ::kill(tid_, 0) == 0 && Clock::now() < until) {
      ::usleep(kLookAgain);
    }
  }

  explicit operator bool() const { return stopped_; }

 private:
  pid_t tid_;
  bool attached_ = false;
  bool stopped_ = false;
  int signal_ = 0;  // a signal that came meanwhile
};

}  // namespace

std::optional<SystemCall> parse_system_call(std::string_view text) {
  if (text == "running\n") return SystemCall{.running = true};
  const std::vector<std::string> words = split(trim(text), ' ');
  if (words.size() < 3) return std::nullopt;
  const auto number = whole_number<long>(words.front());
  const auto stack = hexadecimal(words[words.size() - 2]);
  const auto pc = hexadecimal(words.back());
  if (!number || !stack || !pc) return std::nullopt;
  SystemCall call{.number = *number};
  call.registers[Registers::kStackPointer] = stack;
  call.registers[Registers::kReturnAddress] = pc;
  return call;
}

bool goes_on_after_a_stop(long system_call) {
  // SYS_restart_syscall: the kernel continues a call after an earlier stop.
  static constexpr std::array kGoOn = {
      SYS_futex, SYS_ppoll,  SYS_pselect6,      SYS_nanosleep,       SYS_clock_nanosleep,
      SYS_wait4, SYS_waitid, SYS_rt_sigsuspend, SYS_restart_syscall,
#if defined(__x86_64__)
      SYS_poll,  SYS_select, SYS_pause,
#endif
  };
  return std::ranges::find(kGoOn, system_call) != kGoOn.end();
}

bool may_be_repeated(long system_call) {
  // The calls that are never restarted (signal(7)), except close() and the calls with a partial result.
  static constexpr std::array kRepeated = {
      SYS_read,         SYS_readv,         SYS_write,        SYS_writev, SYS_recvfrom, SYS_recvmsg,
      SYS_recvmmsg,     SYS_sendto,        SYS_sendmsg,      SYS_accept, SYS_accept4,  SYS_connect,
      SYS_epoll_pwait,  SYS_semop,         SYS_semtimedop,   SYS_msgrcv, SYS_msgsnd,   SYS_rt_sigtimedwait,
      SYS_io_getevents, SYS_io_pgetevents, SYS_epoll_pwait2,
#if defined(__x86_64__)
      SYS_epoll_wait,
#endif
  };
  return std::ranges::find(kRepeated, system_call) != kRepeated.end();
}

std::string copy_stack(const ReadMemory& read, std::uint64_t stack_pointer) {
  std::string bytes = bytes_at(read, stack_pointer, kStackBytes);
  if (!bytes.empty()) return bytes;
  // A shorter stack is read page by page.
  for (std::uint64_t at = stack_pointer; bytes.size() < kStackBytes; at = stack_pointer + bytes.size()) {
    const std::string page = bytes_at(read, at, kPage - at % kPage);
    if (page.empty()) break;
    bytes += page;
  }
  return bytes;
}

std::optional<ThreadState> stop_and_copy(pid_t tid, const ReadMemory& read, Time deadline) {
  const Stop stop(tid, deadline);
  const auto registers = stop ? registers_of(tid) : std::nullopt;
  if (!registers) return std::nullopt;
  ThreadState state;
  state.registers = *registers;
  state.stack = (*registers)[Registers::kStackPointer].value_or(0);
  state.bytes = copy_stack(read, state.stack);
  return state;
}

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

namespace {

using std::string_view;

constexpr int kMostWalks = 3;
constexpr std::chrono::milliseconds kGoesBack{2};
constexpr useconds_t kNextLook = 50;  // microseconds
constexpr std::chrono::microseconds kRunsAtLeast{100};
// bytes above the waiting call. The functions of the C library before main:
constexpr std::uint64_t kHashedStack = 16u << 10;
constexpr std::array<string_view, 4> kBeforeMain = {"__libc_start_main", "__libc_start_call_main", "_start",
                                                    "__libc_start_main_impl"};

struct Place {
  std::uint64_t pc = 0;  // an address in the instruction of the frame
  Registers registers = {};
};

class Walk {
 public:
  /// `read` reads memory; its stack has the content of the time of the registers.
  Walk(Modules& modules, const ReadMemory& read) : modules_(modules), read_(read) {}

  /// Returns true if the outermost frame was reached.
  bool run(Registers registers) {
    bool called = false;  // then the address follows the call, and may be in the next function
    while (places_.size() < kMostFrames) {
      const auto pc = registers[Registers::kReturnAddress];
      if (!pc || *pc == 0) return true;
      const std::uint64_t at = called ? *pc - 1 : *pc;
      if (!modules_.has(at)) return false;
      places_.push_back({at, registers});
      Caller caller = modules_.caller_of(read_, registers, at);
      if (caller.kind == Caller::Kind::outermost) return true;
      if (caller.kind != Caller::Kind::found) return false;
      const auto stack = registers[Registers::kStackPointer];
      const auto above = caller.registers[Registers::kStackPointer];
      // An endless loop. With a link register, a function that does not call others may not use the stack.
      const bool loops = stack && above && (called ? *above <= *stack : *above < *stack) && !caller.by_signal;
      if (!above || loops) return false;
      registers = caller.registers;
      called = !caller.by_signal;
    }
    return false;
  }

  const std::vector<Place>& places() const { return places_; }

  Frame frame_of(const Place& place) {
    return {.function = modules_.function_at(place.pc), .file = modules_.path_at(place.pc)};
  }

  /// Hash of the registers that a call preserves, and of the stack above the pointer.
  std::uint64_t hash_of(const Place& place) const {
    Fnv1a hash;
    for (const std::size_t kept : Registers::kPreserved) hash.add(place.registers[kept].value_or(0));
    const std::uint64_t from = place.registers[Registers::kStackPointer].value_or(0);
    for (std::uint64_t offset = 0; offset < kHashedStack; offset += 8) {
      const auto word = value_at<std::uint64_t>(read_, from + offset);
      if (!word) break;
      hash.add(*word);
    }
    return hash.value();
  }

 private:
  Modules& modules_;
  const ReadMemory& read_;
  std::vector<Place> places_;
};

/// The outermost frame of a call that waits for other ranks.
std::optional<std::size_t> waiting_call(const std::vector<Frame>& frames) {
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (waits_for_ranks(frames[i].function)) return i;
  }
  return std::nullopt;
}

/// Removes the callers of main. The innermost of them has no name in a stripped C library.
void cut_before_main(std::vector<Frame>& frames) {
  const auto starts = std::ranges::find_if(
      frames, [](const Frame& frame) { return std::ranges::find(kBeforeMain, frame.function) != kBeforeMain.end(); });
  if (starts == frames.end()) return;
  const std::string library = starts->file;
  frames.erase(starts, frames.end());
  if (frames.size() > 1 && frames.back().file == library && frames.back().function.starts_with("0x")) frames.pop_back();
}

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

NativeStack stack_of(Modules& modules, const ThreadState& state) {
  const ReadMemory read = reader_over(state.bytes, state.stack, modules.read());
  Walk walk(modules, read);
  NativeStack stack;
  stack.whole = walk.run(state.registers);
  for (const Place& place : walk.places()) stack.frames.push_back(walk.frame_of(place));
  if (const auto call = waiting_call(stack.frames)) {
    stack.in_call = true;
    if (*call + 1 < walk.places().size()) stack.callers_hash = walk.hash_of(walk.places()[*call + 1]);
    stack.frames.erase(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(*call));
  }
  cut_before_main(stack.frames);
  for (Frame& frame : stack.frames) frame.function = demangled(frame.function);
  return stack;
}

/// A thread that was stopped in a system call continues the call as soon as the thread gets a CPU. Equal counters prove
/// that the thread is in the call again, with the same stack.
std::optional<SwitchCount> rest_after(const ThreadState& stopped, Modules& modules, pid_t tid, Time deadline) {
  const Time until = std::min(deadline, Clock::now() + kGoesBack);
  while (Clock::now() < until) {
    auto rest = switch_count_of(modules.pid(), tid);
    const auto call = rest ? parse_system_call(rest->call) : std::nullopt;
    if (call && call->registers[Registers::kStackPointer] == stopped.stack) {
      const bool same =
          copy_stack(modules.read(), stopped.stack) == stopped.bytes && switch_count_of(modules.pid(), tid) == rest;
      return same ? std::move(rest) : std::nullopt;
    }
    ::usleep(kNextLook);
  }
  return std::nullopt;
}

/// Returns true if the thread has run for some time without a wait. A thread with short waits may be in a system call
/// that a stop interrupts.
bool keeps_running(pid_t pid, pid_t tid) {
  const auto before = waits_of_running(pid, tid);
  const Time until = Clock::now() + kRunsAtLeast;
  do {
    if (!before || waits_of_running(pid, tid) != before) return false;
  } while (Clock::now() < until);
  return true;
}

}  // namespace

bool waits_for_ranks(string_view name) {
  // A capital letter follows these prefixes: MPI_Recv, ncclAllReduce. The function mpi_solve does not match.
  static constexpr std::array<string_view, 6> kLibraries = {"MPI_", "PMPI_", "nccl", "pnccl", "Hccl", "hccl"};
  static constexpr std::array<string_view, 6> kOthers = {"ucp_",      "ucc_",     "_ZN4c10d",
                                                         "_ZNK4c10d", "_ZN4gloo", "_ZNK4gloo"};
  const auto is_of = [&](string_view library) {
    return name.starts_with(library) && name.size() > library.size() && is_capital(name[library.size()]);
  };
  return std::ranges::any_of(kLibraries, is_of) ||
         std::ranges::any_of(kOthers, [&](string_view beginning) { return name.starts_with(beginning); });
}

NativeStack native_stack(Modules& modules, pid_t tid, char state, Budget& budget) {
  bool may_stop = state == 'R' || state == 'S';
  bool goes_on = false;  // after a stop, as far as known
  std::optional<NativeStack> untouched;
  for (int i = 0; i < kMostWalks && !untouched; ++i) {
    const auto rest = switch_count_of(modules.pid(), tid);
    if (!rest) {
      goes_on = goes_on || keeps_running(modules.pid(), tid);
      if (goes_on) break;
      continue;
    }
    const auto call = parse_system_call(rest->call);
    ThreadState blocked{.registers = call->registers, .stack = *call->registers[Registers::kStackPointer]};
    blocked.bytes = copy_stack(modules.read(), blocked.stack);
    NativeStack stack = stack_of(modules, blocked);
    goes_on = goes_on_after_a_stop(call->number);
    may_stop = may_stop && goes_on;
    if (switch_count_of(modules.pid(), tid) != rest)
      continue;  // the thread ran meanwhile, so the frames may be of two moments
    if (stack.whole) return stack;
    untouched = std::move(stack);
  }
  const auto stopped = may_stop && goes_on ? stop_and_copy(tid, modules.read(), budget.deadline()) : std::nullopt;
  if (!stopped) return untouched.value_or(NativeStack());
  NativeStack stack = stack_of(modules, *stopped);
  stack.stopped = true;
  if (untouched) stack.rest = rest_after(*stopped, modules, tid, budget.deadline());
  return stack;
}

}  // namespace dlaunch::stacks
