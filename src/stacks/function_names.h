// The functions of a program or library by the symbols in its file.
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

/// Bytes of an ELF file that hold its header, its segments and its build id.
inline constexpr std::size_t kBeginning = 1024;

/// Of one file. It has .symtab, or where that was stripped .dynsym, which has what others may call.
class FunctionNames {
 public:
  FunctionNames() = default;  // of no file: nothing has a name
  explicit FunctionNames(sys::Fd file);

  /// The name of the function at an address of the file, as it stands there (C++ names are mangled); empty: none.
  std::string at(std::uint64_t address) const;
  /// Where a section of the file is to be in memory: its address in the file, and its size.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> section(std::string_view name) const;

 private:
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

/// Those of all files that processes have mapped. It is made for one look, in which many processes have the same ones.
class ModuleNames {
 public:
  /// `mapping`: the first one of the file in that process. Null: the file of that name is another one, as its beginning
  /// differs from what is mapped, or cannot be read.
  const FunctionNames* of(pid_t pid, const Mapping& mapping, const std::string& beginning);

 private:
  std::map<std::pair<std::string, std::string>, std::optional<FunctionNames>> known_;  // by path and beginning
};

}  // namespace dlaunch::stacks
