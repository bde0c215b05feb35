// Evaluates the call frame instructions of a function for one address: the locations of the caller's registers. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "stacks/memory.h"
#include "stacks/unwind_table.h"

namespace dlaunch::stacks {

/// The location of the caller's value of a register.
struct RegisterRule {
  enum class Kind { same, undefined, at_offset, is_offset, in_register, at_expression, is_expression };
  Kind kind = Kind::same;
  std::int64_t number = 0;  ///< offset from the canonical frame address, or a register
  std::string expression = {};
};

struct CallFrame {
  /// empty: `expression` gives the canonical frame address
  std::optional<std::size_t> base = Registers::kStackPointer;
  std::int64_t offset = 0;
  std::string expression = {};
  std::array<RegisterRule, Registers::kCount> rules = {};
  bool by_signal = false;
};

/// Reads the entry (FDE) at an address. nullopt: the entry does not cover `pc`, or has unknown instructions.
std::optional<CallFrame> call_frame_at(const ReadMemory& read, std::uint64_t entry, std::uint64_t pc);

/// The addresses of the function of an entry.
struct CoveredRange {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};
/// nullopt: not an entry of a function (but a CIE), or unknown.
std::optional<CoveredRange> covered_by(const ReadMemory& read, std::uint64_t entry);

/// The value of a DWARF expression with `initial` on its stack; nullopt: unknown operations.
std::optional<std::uint64_t> expression_value(const ReadMemory& read, const std::string& expression,
                                              const Registers& frame, std::optional<std::uint64_t> initial);

}  // namespace dlaunch::stacks
