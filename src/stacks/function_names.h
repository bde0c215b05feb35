// The functions of a program or library, from the symbols in its file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stacks/memory.h"
#include "stacks/proc.h"
#include "sys/fd.h"

namespace dlaunch::stacks {

/// Bytes of an ELF file with its header, segments and build id.
inline constexpr std::size_t kBeginning = 1024;

/// The symbols of one file: .symtab or, in a stripped file, .dynsym with the exported functions.
class FunctionNames {
 public:
  FunctionNames() = default;  // without a file: no names
  /// Without names if a budget is used up: `memory` for the table, `time` to read it.
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

}  // namespace dlaunch::stacks
