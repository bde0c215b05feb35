// A program or library in the memory of a process: its segments, and its dynamic symbols. Does not open files: the file
// may have been replaced, or be in another mount namespace. Pure over ReadMemory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stacks/memory.h"

namespace dlaunch::stacks {

/// The ELF file whose header is mapped at an address.
class MappedElf {
 public:
  /// nullopt: not an ELF file of 64 bits, or unreadable.
  static std::optional<MappedElf> at(const ReadMemory& read, std::uint64_t base);

  /// The difference between addresses in memory and in the file.
  std::uint64_t bias() const { return bias_; }
  /// The address of the first segment of a type (PT_*).
  std::optional<std::uint64_t> segment(std::uint32_t type) const;

 private:
  std::uint64_t bias_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments_;  // type and address in the file
};

/// The dynamic symbols of the ELF file whose header is mapped at an address.
class DynamicSymbols {
 public:
  /// nullopt: not an ELF file of 64 bits with a GNU hash table, or unreadable.
  static std::optional<DynamicSymbols> at(const ReadMemory& read, std::uint64_t base);

  /// The address of a symbol that this file defines.
  std::optional<std::uint64_t> find(const ReadMemory& read, std::string_view name) const;

 private:
  std::uint64_t bias_ = 0;  // difference between addresses in memory and in the file
  std::uint64_t symbols_ = 0;
  std::uint64_t names_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace dlaunch::stacks
