// A program or library in the memory of a process: its segments, and its dynamic symbols. No file is opened, so that
// one that was replaced, or is in another mount namespace, does not matter. Pure over ReadMemory.
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
  /// nullopt: that is no ELF file of 64 bits, or cannot be read.
  static std::optional<MappedElf> at(const ReadMemory& read, std::uint64_t base);

  /// What is added to an address of the file.
  std::uint64_t bias() const { return bias_; }
  /// Where the first segment of a type (PT_*) is.
  std::optional<std::uint64_t> segment(std::uint32_t type) const;

 private:
  std::uint64_t bias_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments_;  // type and address in the file
};

/// The dynamic symbols of the ELF file whose header is mapped at an address.
class DynamicSymbols {
 public:
  /// nullopt: that is no ELF file of 64 bits with a GNU hash table, or cannot be read.
  static std::optional<DynamicSymbols> at(const ReadMemory& read, std::uint64_t base);

  /// The address of a symbol that is defined there.
  std::optional<std::uint64_t> find(const ReadMemory& read, std::string_view name) const;

 private:
  std::uint64_t bias_ = 0;  // what is added to an address of the file
  std::uint64_t symbols_ = 0;
  std::uint64_t names_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace dlaunch::stacks
