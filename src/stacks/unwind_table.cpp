#include "stacks/unwind_table.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "stacks/call_frame.h"
#include "stacks/memory.h"

namespace dlaunch::stacks {
namespace {

/// The format of linkers: a count of 4 bytes, and a sorted table of 4-byte values relative to the header.
struct TableHeader {
  std::uint8_t version;
  std::uint8_t frame_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t frame;
  std::uint32_t count;
};

struct TableEntry {
  std::int32_t function;
  std::int32_t entry;
};

std::uint64_t moved(std::uint64_t address, std::int64_t by) { return address + static_cast<std::uint64_t>(by); }

std::optional<std::uint64_t> saved_value(const ReadMemory& read, const RegisterRule& rule, const Registers& frame,
                                         std::uint64_t frame_address, std::size_t number) {
  using Kind = RegisterRule::Kind;
  switch (rule.kind) {
    case Kind::same:
      return frame[number];
    case Kind::undefined:
      return std::nullopt;
    case Kind::at_offset:
      return value_at<std::uint64_t>(read, moved(frame_address, rule.number));
    case Kind::is_offset:
      return moved(frame_address, rule.number);
    case Kind::in_register:
      if (rule.number < 0 || rule.number >= std::int64_t{Registers::kCount}) return std::nullopt;
      return frame[static_cast<std::size_t>(rule.number)];
    case Kind::at_expression:
    case Kind::is_expression:
      break;
  }
  const auto value = expression_value(read, rule.expression, frame, frame_address);
  if (!value || rule.kind == Kind::is_expression) return value;
  return value_at<std::uint64_t>(read, *value);
}

constexpr std::uint64_t kLongestSection = 8u << 20;
constexpr std::uint64_t kWorkOfAnEntry = 512;
constexpr std::uint64_t kShortestEntry = 16;  // bytes of an entry with a function

}  // namespace

std::optional<UnwindTable> UnwindTable::at(const ReadMemory& read, std::uint64_t base) {
  const auto file = MappedElf::at(read, base);
  const auto address = file ? file->segment(PT_GNU_EH_FRAME) : std::nullopt;
  const auto header = address ? value_at<TableHeader>(read, *address) : std::nullopt;
  if (!header || header->version != 1) return std::nullopt;
  const bool pointer_of_four = (header->frame_encoding & 0x0fu) == 0x03 || (header->frame_encoding & 0x0fu) == 0x0b;
  if (!pointer_of_four || header->count_encoding != 0x03 || header->table_encoding != 0x3b) return std::nullopt;
  UnwindTable table;
  table.header_ = *address;
  table.table_ = *address + sizeof(TableHeader);
  table.count_ = header->count;
  return table;
}

/// The last entry whose function starts at or before `pc`.
std::optional<std::uint64_t> UnwindTable::entry_of(const ReadMemory& read, std::uint64_t pc) const {
  std::uint64_t low = 0;
  std::uint64_t high = count_;
  std::optional<std::uint64_t> found;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    const auto entry = value_at<TableEntry>(read, table_ + middle * sizeof(TableEntry));
    if (!entry) return std::nullopt;
    if (moved(header_, entry->function) > pc) {
      high = middle;
    } else {
      found = moved(header_, entry->entry);
      low = middle + 1;
    }
  }
  return found;
}

std::optional<CallFrame> UnwindTable::row_at(const ReadMemory& read, std::uint64_t pc) const {
  const auto entry = entry_of(read, pc);
  return entry ? call_frame_at(read, *entry, pc) : std::nullopt;
}

Caller caller_of(const ReadMemory& read, const CallFrame& row, const Registers& frame) {
  Caller caller;
  caller.by_signal = row.by_signal;
  if (row.rules[Registers::kReturnAddress].kind == RegisterRule::Kind::undefined) {
    caller.kind = Caller::Kind::outermost;
    return caller;
  }
  std::optional<std::uint64_t> address;
  if (!row.base) {
    address = expression_value(read, row.expression, frame, std::nullopt);
  } else if (frame[*row.base]) {
    address = moved(*frame[*row.base], row.offset);
  }
  caller.kind = Caller::Kind::unknown_register;
  if (!address) return caller;
  for (std::size_t i = 0; i < Registers::kCount; ++i) {
    caller.registers[i] = saved_value(read, row.rules[i], frame, *address, i);
  }
  const RegisterRule& stack_pointer = row.rules[Registers::kStackPointer];
  if (stack_pointer.kind == RegisterRule::Kind::same) caller.registers[Registers::kStackPointer] = address;
  if (caller.registers[Registers::kReturnAddress]) caller.kind = Caller::Kind::found;
  return caller;
}

FrameEntries::FrameEntries(const ReadMemory& read, std::uint64_t address, std::uint64_t size, Budget& budget) {
  if (size > kLongestSection || !budget.keep(size)) return;
  const std::string section = bytes_at(read, address, size);
  functions_.reserve(section.size() / kShortestEntry);  // untouched pages use no memory
  const ReadMemory nothing = [](std::uint64_t, std::span<char>) { return false; };
  const ReadMemory within = reader_over(section, address, nothing);
  for (std::uint64_t at = address; at - address < section.size();) {
    if (!budget.spend(kWorkOfAnEntry)) break;
    const auto length = value_at<std::uint32_t>(within, at);
    // an entry of more than 4 GiB starts with ~0. An entry of length 0 is the end marker of a linked file.
    if (!length || *length > section.size()) break;
    const auto function = *length == 0 ? std::nullopt : covered_by(within, at);
    if (function && !budget.keep(sizeof(Function))) break;
    if (function) functions_.push_back({function->start, function->size, at});
    at += 4 + std::uint64_t{*length};
  }
  if (budget.used_up()) functions_.clear();
  std::ranges::sort(functions_, {}, &Function::start);
}

std::optional<std::uint64_t> FrameEntries::entry_of(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(functions_, pc, {}, &Function::start);
  if (behind == functions_.begin() || pc - std::prev(behind)->start >= std::prev(behind)->size) return std::nullopt;
  return std::prev(behind)->entry;
}

}  // namespace dlaunch::stacks
