// What the call frame instructions of a function say of one place in it: where the caller's registers are. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "stacks/memory.h"
#include "stacks/unwind_table.h"

namespace dlaunch::stacks {

/// How the caller's value of a register is found.
struct RegisterRule {
  enum class Kind { same, undefined, at_offset, is_offset, in_register, at_expression, is_expression };
  Kind kind = Kind::same;
  std::int64_t number = 0;  ///< bytes from the canonical frame address, or a register
  std::string expression = {};
};

struct CallFrame {
  std::optional<std::size_t> base = Registers::kStackPointer;  ///< none: `expression` gives the canonical frame address
  std::int64_t offset = 0;
  std::string expression = {};
  std::array<RegisterRule, Registers::kCount> rules = {};
  bool by_signal = false;
};

/// By the entry (FDE) at an address. nullopt: it does not cover `pc`, or has what is not known here.
std::optional<CallFrame> call_frame_at(const ReadMemory& read, std::uint64_t entry, std::uint64_t pc);

/// The addresses of the function that an entry is of.
struct CoveredRange {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};
/// nullopt: it is no entry of a function (but a CIE), or is not known here.
std::optional<CoveredRange> covered_by(const ReadMemory& read, std::uint64_t entry);

/// The value of a DWARF expression that begins with `initial` on its stack, or nothing.
std::optional<std::uint64_t> expression_value(const ReadMemory& read, const std::string& expression,
                                              const Registers& frame, std::optional<std::uint64_t> initial);

}  // namespace dlaunch::stacks
