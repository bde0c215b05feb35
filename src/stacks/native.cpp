#include "stacks/native.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "stacks/elf.h"
#include "stacks/thread_state.h"
#include "stacks/unwind_table.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

using std::string_view;

constexpr std::size_t kLongestMangled = 512;       // what a longer name means may be very long
constexpr std::uint64_t kHashedStack = 16u << 10;  // bytes above the call that waits
// What the C library runs before main.
constexpr std::array<string_view, 4> kBeforeMain = {"__libc_start_main", "__libc_start_call_main", "_start",
                                                    "__libc_start_main_impl"};

constexpr std::array<std::size_t, 6> kKeptRegisters = {3, 6, 12, 13, 14, 15};  // rbx, rbp, r12 to r15

struct Place {
  std::uint64_t pc = 0;  // within the instruction that the frame stands in
  Registers registers = {};
};

/// A file that is mapped, and where.
struct Module {
  const Mapping* first = nullptr;  // it has the ELF header
  std::uint64_t bias = 0;
  std::optional<UnwindTable> table = {};
};

class Walk {
 public:
  Walk(const NativeProcess& process, const ThreadState& state) : process_(process) {
    read_ = [&process, &state](std::uint64_t address, std::span<char> into) {
      const std::uint64_t offset = address - state.stack;
      if (address < state.stack || offset > state.bytes.size() || into.size() > state.bytes.size() - offset) {
        return process.read(address, into);
      }
      std::ranges::copy(string_view(state.bytes).substr(offset, into.size()), into.begin());
      return true;
    };
  }

  /// Returns whether the outermost frame was reached.
  bool run(Registers registers) {
    bool called = false;  // then the address is behind the call, and may be in the next function
    while (places_.size() < kMostFrames) {
      const auto pc = registers[Registers::kReturnAddress];
      if (!pc || *pc == 0) return true;
      const std::uint64_t at = called ? *pc - 1 : *pc;
      const Module* module = module_of(at);
      if (module == nullptr) return false;
      places_.push_back({at, registers});
      if (!module->table) return false;
      Caller caller = module->table->caller_of(read_, registers, at);
      if (caller.kind == Caller::Kind::outermost) return true;
      if (caller.kind != Caller::Kind::found) return false;
      const auto stack = registers[Registers::kStackPointer];
      const auto above = caller.registers[Registers::kStackPointer];
      if (!above || (stack && *above <= *stack && !caller.by_signal)) return false;  // it would never end
      registers = caller.registers;
      called = !caller.by_signal;
    }
    return false;
  }

  const std::vector<Place>& places() const { return places_; }

  Frame frame_of(const Place& place) {
    const Module& module = *module_of(place.pc);
    const std::uint64_t address = place.pc - module.bias;
    Frame frame{.function = process_.names.of(process_.pid, *module.first, process_.read).at(address),
                .file = module.first->path};
    if (frame.function.empty()) frame.function = hexadecimal(address);
    return frame;
  }

  /// FNV-1a of the registers that a call keeps, and of the stack from the pointer on.
  std::uint64_t hash_of(const Place& place) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
    for (const std::size_t kept : kKeptRegisters) add(place.registers[kept].value_or(0));
    const std::uint64_t from = place.registers[Registers::kStackPointer].value_or(0);
    for (std::uint64_t offset = 0; offset < kHashedStack; offset += 8) {
      const auto word = value_at<std::uint64_t>(read_, from + offset);
      if (!word) break;
      add(*word);
    }
    return hash;
  }

 private:
  static std::string hexadecimal(std::uint64_t value) {
    std::string text;
    for (; value != 0; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 0xfu]);
    return "0x" + text;
  }

  const Module* module_of(std::uint64_t pc) {
    const auto next = std::ranges::upper_bound(process_.maps, pc, {}, &Mapping::start);
    if (next == process_.maps.begin() || pc >= std::prev(next)->end) return nullptr;
    auto first = std::prev(next);
    if (!first->executable) return nullptr;
    const std::string& path = first->path;
    while (first->offset != 0 && first != process_.maps.begin()) --first;
    if (first->offset != 0 || first->path != path) return nullptr;
    const auto [known, is_new] = modules_.try_emplace(first->start);
    if (is_new) {
      const auto file = MappedElf::at(process_.read, first->start);
      known->second = {&*first, file ? file->bias() : 0, UnwindTable::at(process_.read, first->start)};
    }
    return &known->second;
  }

  const NativeProcess& process_;
  ReadMemory read_;
  std::map<std::uint64_t, Module> modules_;  // by where they begin
  std::vector<Place> places_;
};

/// The outermost frame of a call that waits for other ranks.
std::optional<std::size_t> waiting_call(const std::vector<Frame>& frames) {
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (waits_for_ranks(frames[i].function)) return i;
  }
  return std::nullopt;
}

/// Takes the frames away that call main. Of the innermost one the C library has no name where it is stripped.
void cut_before_main(std::vector<Frame>& frames) {
  const auto starts = std::ranges::find_if(
      frames, [](const Frame& frame) { return std::ranges::find(kBeforeMain, frame.function) != kBeforeMain.end(); });
  if (starts == frames.end()) return;
  const std::string library = starts->file;
  frames.erase(starts, frames.end());
  if (frames.size() > 1 && frames.back().file == library && frames.back().function.starts_with("0x")) frames.pop_back();
}

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

/// The name of a C++ function without its parameters.
std::string without_parameters(std::string name) {
  const std::size_t close = name.rfind(')');
  if (close == std::string::npos) return name;
  std::size_t depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at > 0 ? name.substr(0, at) : name;
  }
  return name;
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 && plain ? without_parameters(plain.get()) : name;
}

NativeStack stack_of(const NativeProcess& process, const ThreadState& state) {
  Walk walk(process, state);
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

}  // namespace

bool waits_for_ranks(string_view name) {
  // Behind these comes a capital letter: MPI_Recv, ncclAllReduce. A program's own mpi_solve is none of them.
  static constexpr std::array<string_view, 6> kLibraries = {"MPI_", "PMPI_", "nccl", "pnccl", "Hccl", "hccl"};
  static constexpr std::array<string_view, 6> kOthers = {"ucp_",      "ucc_",     "_ZN4c10d",
                                                         "_ZNK4c10d", "_ZN4gloo", "_ZNK4gloo"};
  const auto is_of = [&](string_view library) {
    return name.starts_with(library) && name.size() > library.size() && is_capital(name[library.size()]);
  };
  return std::ranges::any_of(kLibraries, is_of) ||
         std::ranges::any_of(kOthers, [&](string_view beginning) { return name.starts_with(beginning); });
}

NativeStack native_stack(const NativeProcess& process, pid_t tid, char state, Time deadline) {
  const std::string path = "/proc/" + std::to_string(process.pid) + "/task/" + std::to_string(tid) + "/syscall";
  const auto call = parse_system_call(sys::read_file(path, 4096).value_or(""));
  NativeStack untouched;
  if (!call) return untouched;
  if (!call->running) {
    ThreadState blocked{.registers = call->registers, .stack = *call->registers[Registers::kStackPointer]};
    blocked.bytes = copy_stack(process.read, blocked.stack);
    untouched = stack_of(process, blocked);
    if (untouched.whole || !goes_on_after_a_stop(call->number)) return untouched;
  }
  if (state != 'R' && state != 'S') return untouched;
  const auto stopped = stop_and_copy(tid, process.read, deadline);
  return stopped ? stack_of(process, *stopped) : untouched;
}

}  // namespace dlaunch::stacks
