// Evaluates the call frame instructions of a function for one address: the locations of the caller's registers. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stacks/process.h"

namespace dlaunch::stacks {

// The caller of a function, by the unwind tables of compilers (.eh_frame_hdr and .eh_frame: Linux Standard Base, core
// specification 10.6; call frame instructions: DWARF 4, section 6.4). Pure over ReadMemory. The tables are untrusted
// data: lengths are limited, and an unknown instruction ends the walk.

struct CallFrame;

/// The registers of a frame, by DWARF's numbers for the machine type. An unknown register is empty.
struct Registers {
#ifdef __aarch64__
  static constexpr std::size_t kStackPointer = 31;
  static constexpr std::size_t kReturnColumn = 30;   ///< link register
  static constexpr std::size_t kReturnAddress = 32;  ///< instruction pointer of the frame, without a DWARF number
  static constexpr std::size_t kCount = 33;
  static constexpr std::array<std::size_t, 11> kPreserved = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
#else
  static constexpr std::size_t kStackPointer = 7;
  static constexpr std::size_t kReturnColumn = 16;   ///< the column of the tables for the caller's instruction pointer
  static constexpr std::size_t kReturnAddress = 16;  ///< instruction pointer of the frame
  static constexpr std::size_t kCount = 17;
  static constexpr std::array<std::size_t, 6> kPreserved = {3, 6, 12, 13, 14, 15};  ///< rbx, rbp, r12 to r15
#endif
  std::array<std::optional<std::uint64_t>, kCount> values = {};

  std::optional<std::uint64_t>& operator[](std::size_t i) { return values.at(i); }
  const std::optional<std::uint64_t>& operator[](std::size_t i) const { return values.at(i); }
};

struct Caller {
  enum class Kind {
    found,
    outermost,         ///< outermost function: the table has no caller
    unknown_register,  ///< the table needs an unknown register
    no_table,          ///< no table for this function, or unreadable
  };
  Kind kind = Kind::no_table;
  Registers registers = {};  ///< location of the row
  bool by_signal = false;    ///< the return from a signal handler: the caller was interrupted
};

/// The caller of a frame to which the row applies.
Caller caller_of(const ReadMemory& read, const CallFrame& row, const Registers& frame);

/// The table of the ELF file whose header is mapped at an address.
class UnwindTable {
 public:
  /// nullopt: no table in the usual format.
  static std::optional<UnwindTable> at(const ReadMemory& read, std::uint64_t base);

  /// `pc`: an address in the instruction of the frame. nullopt: no row for it.
  std::optional<CallFrame> row_at(const ReadMemory& read, std::uint64_t pc) const;

 private:
  std::optional<std::uint64_t> entry_of(const ReadMemory& read, std::uint64_t pc) const;

  std::uint64_t header_ = 0;  // base address of its entries
  std::uint64_t table_ = 0;
  std::uint32_t count_ = 0;
};

/// Finds the entry of .eh_frame for a function without the linker's search table, as in programs linked with -static.
/// Pure over ReadMemory.
class FrameEntries {
 public:
  FrameEntries() = default;
  /// `address` and `size` of the section in memory. Unreadable entries, and all entries after malformed ones, are left
  /// out. Empty if the budget is used up.
  FrameEntries(const ReadMemory& read, std::uint64_t address, std::uint64_t size, Budget& budget);

  /// The address of the entry for `pc`.
  std::optional<std::uint64_t> entry_of(std::uint64_t pc) const;

 private:
  struct Function {
    std::uint64_t start;
    std::uint64_t size;
    std::uint64_t entry;
  };
  std::vector<Function> functions_;  // ordered by address
};

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
