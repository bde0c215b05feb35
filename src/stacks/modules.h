// The programs and libraries that a process has mapped, by addresses in them: how a frame's caller is found, and what a
// function is called. What is the same wherever a file is mapped is kept for the next look.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stacks/call_frame.h"
#include "stacks/frame_entries.h"
#include "stacks/function_names.h"
#include "stacks/memory.h"
#include "stacks/proc.h"
#include "stacks/unwind_table.h"

namespace dlaunch::stacks {

/// What is known of a file, by addresses in it.
struct KnownModule {
  std::map<std::uint64_t, CallFrame> rows = {};
  std::map<std::uint64_t, std::string> names = {};
};

/// Of all files, for as long as somebody looks.
class ModuleCache {
 public:
  /// `beginning`: the first bytes of the file as it is mapped. The reference holds until forget_some().
  KnownModule& of(const Mapping& mapping, const std::string& beginning);
  /// Forgets all where that is much.
  void forget_some();

 private:
  struct Key {
    std::string path;
    std::string file;
    std::string beginning;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, KnownModule> known_;
};

/// Those of one process. Everything given must outlive it.
class Modules {
 public:
  Modules(pid_t pid, const std::vector<Mapping>& maps, const ReadMemory& read, ModuleNames& names, ModuleCache& cache)
      : pid_(pid), maps_(maps), read_(read), names_(names), cache_(cache) {}

  pid_t pid() const { return pid_; }
  const ReadMemory& read() const { return read_; }
  /// Whether there is code at an address.
  bool has(std::uint64_t pc) { return at(pc) != nullptr; }
  /// `stack`: reads memory, the stack among it, as it was when the frame stood there.
  Caller caller_of(const ReadMemory& stack, const Registers& frame, std::uint64_t pc);
  /// `pc`: where there is code. Its name as it stands in the file, or its address there.
  std::string function_at(std::uint64_t pc);
  const std::string& path_at(std::uint64_t pc) { return at(pc)->first->path; }

 private:
  struct Module {
    const Mapping* first = nullptr;  // it has the ELF header
    std::string beginning = {};
    std::uint64_t bias = 0;
    std::optional<UnwindTable> table = {};
    std::optional<FrameEntries> entries = {};  // where it has no such table
    KnownModule* known = nullptr;              // none: its beginning could not be read
  };
  Module* at(std::uint64_t pc);
  std::optional<CallFrame> row_at(Module& module, std::uint64_t pc);
  void begin(Module& module) const;

  pid_t pid_;
  const std::vector<Mapping>& maps_;  // in the order of addresses
  const ReadMemory& read_;
  ModuleNames& names_;
  ModuleCache& cache_;
  std::map<std::uint64_t, Module> modules_ = {};  // by where they begin
};

}  // namespace dlaunch::stacks
