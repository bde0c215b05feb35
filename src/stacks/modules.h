// The mapped programs and libraries of a process, by address: the caller of a frame, and the name of a function. Data
// that does not depend on the address of a mapping is cached for the next sample.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stacks/call_frame.h"
#include "stacks/process.h"
#include "sys/fd.h"

namespace dlaunch::stacks {

// The functions of a program or library, from the symbols in its file.

/// Bytes of an ELF file with its header, segments and build id.
inline constexpr std::size_t kBeginning = 1024;

/// The symbols of one file: .symtab or, in a stripped file, .dynsym with the exported functions.
class FunctionNames {
 public:
  FunctionNames() = default;  // no file, no names
  /// Has no names if a budget is exceeded: `memory` for the table, `time` for reading the table.
  FunctionNames(sys::Fd file, Budget& memory, Budget& time);

  /// The name of the function at an address of the file, as in the file (C++ names are mangled); empty: unknown.
  std::string at(std::uint64_t address) const;
  /// A section of the file: its address in the file, and its size.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> section(std::string_view name) const;

 private:
  /// false: a budget is used up.
  bool read_functions(std::uint64_t offset, std::uint64_t count, Budget& memory, Budget& time);
  std::string name_at(std::uint64_t offset) const;

  struct Function {
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t name;  // offset in the names
  };
  sys::Fd file_;
  std::uint64_t names_ = 0;  // offset in the file
  std::vector<Function> functions_;
};

/// The names of all mapped files. One object per sampling, since many processes map the same files.
class ModuleNames {
 public:
  static constexpr std::size_t kMostBytes = 24u << 20;

  /// The memory is a part of `whole`, which must outlive this object.
  explicit ModuleNames(Budget& whole, std::size_t most = kMostBytes)
      : memory_({.bytes = most, .work = UINT64_MAX}, Time::max(), whole) {}

  /// `mapping`: the first mapping of the file in the process. Null: the file is unreadable, is not a regular file, or
  /// begins with other bytes than the mapping; or a budget is used up.
  const FunctionNames* of(pid_t pid, const Mapping& mapping, const std::string& beginning, Budget& time);
  /// Returns true if there was no memory for the names of a file.
  bool left_out() const { return memory_.out_of_memory(); }

 private:
  Budget memory_;
  std::map<std::pair<std::string, std::string>, std::optional<FunctionNames>> known_;  // key: path and beginning
};

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
