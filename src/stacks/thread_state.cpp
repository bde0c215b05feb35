#include "stacks/thread_state.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "stacks/proc.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kStackBytes = 128u << 10;
constexpr std::size_t kPage = 4096;
constexpr std::chrono::milliseconds kLetGo{500};  // after a thread that did not stop in time
constexpr useconds_t kLookAgain = 20;             // microseconds

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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
std::optional<Registers> registers_of(pid_t tid) {
  user_regs_struct raw{};
  iovec into{&raw, sizeof raw};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &into) != 0) return std::nullopt;
  repeat_interrupted_call(tid, raw);
  Registers registers;
  const std::array<unsigned long long, Registers::kCount> values = {
      raw.rax, raw.rdx, raw.rcx, raw.rbx, raw.rsi, raw.rdi, raw.rbp, raw.rsp, raw.r8,
      raw.r9,  raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15, raw.rip};
  for (std::size_t i = 0; i < values.size(); ++i) registers[i] = values.at(i);
  return registers;
}
#else
std::optional<Registers> registers_of(pid_t) { return std::nullopt; }
#endif

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
    const bool by_us = !stopped_ || info.si_code >> 8 == PTRACE_EVENT_STOP;
    if (!by_us) signal_ = info.si_signo;
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  /// A thread that has not stopped yet is released as soon as it stops; after the limit, at the end of this thread.
  ~Stop() {
    const Time until = Clock::now() + kLetGo;
    while (attached_ && ::ptrace(PTRACE_DETACH, tid_, nullptr, static_cast<long>(signal_)) != 0 && is_there() &&
           Clock::now() < until) {
      ::usleep(kLookAgain);
    }
  }

  explicit operator bool() const { return stopped_; }

 private:
  bool is_there() const { return ::kill(tid_, 0) == 0; }

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
  SystemCall call;
  const std::string& number = words.front();
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), call.number);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  const auto stack = hexadecimal(words[words.size() - 2]);
  const auto pc = hexadecimal(words.back());
  if (!stack || !pc) return std::nullopt;
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

}  // namespace dlaunch::stacks
