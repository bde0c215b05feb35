// The mapped programs and libraries of a process, by address: the caller of a frame, and the name of a function. Data
// that does not depend on the address of a mapping is cached for the next sample.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stacks/call_frame.h"
#include "stacks/function_names.h"
#include "stacks/memory.h"
#include "stacks/proc.h"
#include "stacks/unwind_table.h"

namespace dlaunch::stacks {

/// The cached data of a file, by addresses in the file.
struct KnownModule {
  std::map<std::uint64_t, CallFrame> rows = {};
  std::map<std::uint64_t, std::string> names = {};
};

/// The cached data of all files, for the time of the sampling. Above the limit of memory, nothing is added.
class ModuleCache {
 public:
  explicit ModuleCache(std::size_t most = 8u << 20) : most_(most) {}

  /// `beginning`: the first mapped bytes of the file. The result is valid until forget_some(). Null: above the limit.
  KnownModule* of(const Mapping& mapping, const std::string& beginning);
  void keep(KnownModule& module, std::uint64_t address, const CallFrame& row);
  void keep(KnownModule& module, std::uint64_t address, const std::string& name);
  /// Clears a large cache.
  void forget_some();
  std::size_t bytes() const { return bytes_; }

 private:
  bool take(std::size_t bytes);

  struct Key {
    std::string path;
    std::string file;
    std::string beginning;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, KnownModule> known_;
  std::size_t most_;
  std::size_t bytes_ = 0;
};

/// The modules of one process. All arguments must outlive the object.
class Modules {
 public:
  Modules(pid_t pid, const std::vector<Mapping>& maps, const ReadMemory& read, ModuleNames& names, ModuleCache& cache,
          Budget& budget)
      : pid_(pid), maps_(maps), read_(read), names_(names), cache_(cache), budget_(budget) {}

  pid_t pid() const { return pid_; }
  const ReadMemory& read() const { return read_; }
  /// Returns true if there is code at an address.
  bool has(std::uint64_t pc) { return at(pc) != nullptr; }
  /// `stack` reads memory; its stack has the content of the time of the frame.
  Caller caller_of(const ReadMemory& stack, const Registers& frame, std::uint64_t pc);
  /// `pc`: an address with code. Returns the name as in the file, or the address in the file.
  std::string function_at(std::uint64_t pc);
  const std::string& path_at(std::uint64_t pc) { return at(pc)->first->path; }

 private:
  struct Module {
    const Mapping* first = nullptr;  // has the ELF header
    std::string beginning = {};
    std::uint64_t bias = 0;
    std::optional<UnwindTable> table = {};
    std::optional<FrameEntries> entries = {};  // for a file without such a table
    bool readable = false;
    KnownModule* known = nullptr;  // null: not cached
  };
  Module* at(std::uint64_t pc);
  std::optional<CallFrame> row_at(Module& module, std::uint64_t pc);
  void begin(Module& module) const;

  pid_t pid_;
  const std::vector<Mapping>& maps_;  // ordered by address
  const ReadMemory& read_;
  ModuleNames& names_;
  ModuleCache& cache_;
  Budget& budget_;
  std::map<std::uint64_t, Module> modules_ = {};  // by start address
};

}  // namespace dlaunch::stacks
