#include "stacks/native.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "stacks/demangle.h"

namespace dlaunch::stacks {
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

constexpr std::array<std::size_t, 6> kKeptRegisters = {3, 6, 12, 13, 14, 15};  // rbx, rbp, r12 to r15

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
      if (!above || (stack && *above <= *stack && !caller.by_signal)) return false;  // an endless loop
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
    for (const std::size_t kept : kKeptRegisters) hash.add(place.registers[kept].value_or(0));
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
