// The caller of a function, by the tables that compilers write for exceptions (.eh_frame_hdr and .eh_frame: Linux
// Standard Base, core specification 10.6; call frame instructions: DWARF 4, section 6.4). Pure over ReadMemory: what it
// reads is data, so lengths are bounded, and what it does not know ends the walk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stacks/memory.h"

namespace dlaunch::stacks {

struct CallFrame;

/// The registers of a frame, by DWARF's numbers for x86-64. One whose value is not known has none.
struct Registers {
  static constexpr std::size_t kStackPointer = 7;
  static constexpr std::size_t kReturnAddress = 16;  ///< where the frame goes on: its instruction pointer
  static constexpr std::size_t kCount = 17;
  std::array<std::optional<std::uint64_t>, kCount> values = {};

  std::optional<std::uint64_t>& operator[](std::size_t i) { return values.at(i); }
  const std::optional<std::uint64_t>& operator[](std::size_t i) const { return values.at(i); }
};

struct Caller {
  enum class Kind {
    found,
    outermost,         ///< the table says that nobody calls this function
    unknown_register,  ///< the table needs a register whose value is not known
    no_table,          ///< there is none for this function, or it cannot be read
  };
  Kind kind = Kind::no_table;
  Registers registers = {};  ///< where it is found
  bool by_signal = false;    ///< the function is what a signal handler returns to: its caller was interrupted
};

/// The caller of a frame in whose place the row holds.
Caller caller_of(const ReadMemory& read, const CallFrame& row, const Registers& frame);

/// The table of the ELF file whose header is mapped at an address.
class UnwindTable {
 public:
  /// nullopt: it has no table of the usual form.
  static std::optional<UnwindTable> at(const ReadMemory& read, std::uint64_t base);

  /// `pc`: an address within the instruction that the frame stands in. nullopt: it has no row for it.
  std::optional<CallFrame> row_at(const ReadMemory& read, std::uint64_t pc) const;

 private:
  std::optional<std::uint64_t> entry_of(const ReadMemory& read, std::uint64_t pc) const;

  std::uint64_t header_ = 0;  // the address to which its entries are relative
  std::uint64_t table_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace dlaunch::stacks
