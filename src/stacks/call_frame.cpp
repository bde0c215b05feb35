#include "stacks/call_frame.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "stacks/dwarf_bytes.h"

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
  if (row.rules[Registers::kReturnColumn].kind == RegisterRule::Kind::undefined) {
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
  auto& pc = caller.registers[Registers::kReturnAddress];
  if (row.rules[Registers::kReturnAddress].kind == RegisterRule::Kind::same)
    pc = caller.registers[Registers::kReturnColumn];
#ifdef __aarch64__
  if (pc) *pc &= (1ull << 48) - 1;  // removes the signature of pointer authentication
#endif
  if (pc) caller.kind = Caller::Kind::found;
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

namespace {

constexpr std::uint32_t kLongestEntry = 64u << 10;
constexpr std::uint32_t kLongestHead = 128;        // before the instructions
constexpr std::uint64_t kLongestExpression = 256;  // bytes; compilers and the C library write about 20
constexpr std::size_t kMostRemembered = 16;

/// The beginning of an entry of .eh_frame, without its length.
std::string entry_bytes(const ReadMemory& read, std::uint64_t address, std::uint32_t most) {
  const auto length = value_at<std::uint32_t>(read, address);
  if (!length || *length == 0 || *length > kLongestEntry) return {};
  return bytes_at(read, address + 4, std::min(*length, most));
}

/// The common part of several functions (a CIE).
struct Common {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  std::uint8_t pointers = 0;  // encoding of addresses
  bool augmented = false;
  bool by_signal = false;
  std::string instructions;
  std::uint64_t address = 0;  // bytes of the instructions
};

/// The letters after 'z' list the contents of the augmentation.
bool read_augmentation(Common& common, std::string_view letters, std::string_view data, std::uint64_t address) {
  DwarfBytes bytes(data, address);
  for (const char letter : letters) {
    if (letter == 'R') {
      common.pointers = bytes.fixed<std::uint8_t>();
    } else if (letter == 'P') {
      const auto encoding = bytes.fixed<std::uint8_t>();
      bytes.pointer(encoding & 0x7fu);
    } else if (letter == 'L') {
      bytes.fixed<std::uint8_t>();
    } else if (letter == 'S') {
      common.by_signal = true;
    } else {
      return false;
    }
  }
  return !bytes.failed();
}

/// With at most `most` bytes of the entry.
std::optional<Common> common_at(const ReadMemory& read, std::uint64_t address, std::uint32_t most) {
  const std::string entry = entry_bytes(read, address, most);
  DwarfBytes bytes(entry, address + 4);
  Common common;
  if (bytes.fixed<std::uint32_t>() != 0) return std::nullopt;
  const auto version = bytes.fixed<std::uint8_t>();
  const std::string_view letters = bytes.text();
  common.code_align = bytes.unsigned_leb();
  common.data_align = bytes.signed_leb();
  const std::uint64_t return_column = version == 1 ? bytes.fixed<std::uint8_t>() : bytes.unsigned_leb();
  if ((version != 1 && version != 3) || return_column != Registers::kReturnColumn) return std::nullopt;
  common.augmented = letters.starts_with('z');
  if (!common.augmented && !letters.empty()) return std::nullopt;
  if (common.augmented) {
    const std::uint64_t size = bytes.unsigned_leb();
    const std::uint64_t at = bytes.address();
    if (!read_augmentation(common, letters.substr(1), bytes.take(size), at)) return std::nullopt;
  }
  common.address = bytes.address();
  if (bytes.failed()) return std::nullopt;
  common.instructions = entry.substr(common.address - (address + 4));
  return common;
}

/// Runs call frame instructions up to the first row after `pc`.
class Rows {
 public:
  Rows(const Common& common, std::uint64_t start, std::uint64_t pc) : common_(common), location_(start), pc_(pc) {
    frame_.by_signal = common.by_signal;
    // A function that does not call others leaves the return address in the link register.
    if constexpr (Registers::kReturnColumn == Registers::kReturnAddress) {
      frame_.rules[Registers::kReturnColumn].kind = RegisterRule::Kind::undefined;
    }
  }

  bool run(std::string_view instructions, std::uint64_t address) {
    DwarfBytes bytes(instructions, address);
    while (!bytes.at_end()) {
      const auto code = bytes.fixed<std::uint8_t>();
      const bool known = (code >> 6) != 0 ? packed(code, bytes) : plain(code, bytes);
      if (!known || bytes.failed()) return false;
      if (location_ > pc_) return true;
    }
    return !bytes.failed();
  }
  /// The rules of the common entry, which DW_CFA_restore restores.
  void begin_function() { initial_ = frame_; }
  CallFrame take() { return std::move(frame_); }

 private:
  using Kind = RegisterRule::Kind;

  void advance(std::uint64_t delta) { location_ += delta * common_.code_align; }

  void set(std::uint64_t number, Kind kind, std::int64_t value = 0, std::string expression = {}) {
    if (number < Registers::kCount) frame_.rules[number] = {kind, value, std::move(expression)};
  }

  void restore(std::uint64_t number) {
    if (number < Registers::kCount) frame_.rules[number] = initial_.rules[number];
  }

  bool set_base(std::uint64_t number) {
    if (number >= Registers::kCount) return false;
    frame_.base = number;
    return true;
  }

  std::int64_t scaled(std::int64_t value) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) *
                                     static_cast<std::uint64_t>(common_.data_align));
  }
  std::int64_t scaled(std::uint64_t value) const { return scaled(static_cast<std::int64_t>(value)); }

  static bool take_expression(DwarfBytes& bytes, std::string& expression) {
    expression = bytes.take(std::min(bytes.unsigned_leb(), kLongestExpression + 1));
    return expression.size() <= kLongestExpression;
  }

  bool set_expression(std::uint64_t number, Kind kind, DwarfBytes& bytes) {
    std::string expression;
    if (!take_expression(bytes, expression)) return false;
    set(number, kind, 0, std::move(expression));
    return true;
  }

  /// The instructions with an operand in their low six bits.
  bool packed(std::uint8_t code, DwarfBytes& bytes) {
    const std::uint8_t low = code & 0x3fu;
    if (code >> 6 == 1) advance(low);
    if (code >> 6 == 2) set(low, Kind::at_offset, scaled(bytes.unsigned_leb()));
    if (code >> 6 == 3) restore(low);
    return true;
  }

  bool plain(std::uint8_t code, DwarfBytes& bytes) {
    if (code == 0x00) return true;  // nop
    if (code <= 0x04) return move(code, bytes);
    if (code >= 0x0c && code <= 0x13 && code != 0x10 && code != 0x11) return base(code, bytes);
    return rule(code, bytes);
  }

  bool move(std::uint8_t code, DwarfBytes& bytes) {
    if (code == 0x01) location_ = bytes.pointer(common_.pointers);  // set_loc
    if (code == 0x02) advance(bytes.fixed<std::uint8_t>());
    if (code == 0x03) advance(bytes.fixed<std::uint16_t>());
    if (code == 0x04) advance(bytes.fixed<std::uint32_t>());
    return true;
  }

  /// The rule of the canonical frame address.
  bool base(std::uint8_t code, DwarfBytes& bytes) {
    switch (code) {
      case 0x0c:  // def_cfa
        if (!set_base(bytes.unsigned_leb())) return false;
        frame_.offset = static_cast<std::int64_t>(bytes.unsigned_leb());
        return true;
      case 0x0d:  // def_cfa_register
        return set_base(bytes.unsigned_leb());
      case 0x0e:  // def_cfa_offset
        frame_.offset = static_cast<std::int64_t>(bytes.unsigned_leb());
        return true;
      case 0x0f:  // def_cfa_expression
        frame_.base.reset();
        return take_expression(bytes, frame_.expression);
      case 0x12:  // def_cfa_sf
        if (!set_base(bytes.unsigned_leb())) return false;
        frame_.offset = scaled(bytes.signed_leb());
        return true;
      default:  // 0x13, def_cfa_offset_sf
        frame_.offset = scaled(bytes.signed_leb());
        return true;
    }
  }

  bool rule(std::uint8_t code, DwarfBytes& bytes) {
    if (code == 0x0a) return remember();  // remember_state
    if (code == 0x0b) return recall();    // restore_state
    if (code == 0x2d) return true;        // AARCH64_negate_ra_state: caller_of() removes each signature
    if (code == 0x2e) {                   // GNU_args_size
      bytes.unsigned_leb();
      return true;
    }
    const std::uint64_t number = bytes.unsigned_leb();
    switch (code) {
      case 0x05:  // offset_extended
        set(number, Kind::at_offset, scaled(bytes.unsigned_leb()));
        return true;
      case 0x06:  // restore_extended
        restore(number);
        return true;
      case 0x07:  // undefined
        set(number, Kind::undefined);
        return true;
      case 0x08:  // same_value
        set(number, Kind::same);
        return true;
      case 0x09:  // register
        set(number, Kind::in_register, static_cast<std::int64_t>(bytes.unsigned_leb()));
        return true;
      case 0x10:  // expression
        return set_expression(number, Kind::at_expression, bytes);
      case 0x11:  // offset_extended_sf
        set(number, Kind::at_offset, scaled(bytes.signed_leb()));
        return true;
      case 0x14:  // val_offset
        set(number, Kind::is_offset, scaled(bytes.unsigned_leb()));
        return true;
      case 0x15:  // val_offset_sf
        set(number, Kind::is_offset, scaled(bytes.signed_leb()));
        return true;
      case 0x16:  // val_expression
        return set_expression(number, Kind::is_expression, bytes);
      default:
        return false;
    }
  }

  bool remember() {
    remembered_.push_back(frame_);
    return remembered_.size() <= kMostRemembered;
  }

  bool recall() {
    if (remembered_.empty()) return false;
    frame_ = std::move(remembered_.back());
    remembered_.pop_back();
    return true;
  }

  const Common& common_;
  std::uint64_t location_;
  const std::uint64_t pc_;
  CallFrame frame_;
  CallFrame initial_;
  std::vector<CallFrame> remembered_;
};

struct FunctionEntry {
  Common common;
  CoveredRange range;
  std::string instructions;
  std::uint64_t address = 0;  // bytes of the instructions
};

/// With at most `most` bytes of the entry and of its common part.
std::optional<FunctionEntry> function_entry_at(const ReadMemory& read, std::uint64_t entry, std::uint32_t most) {
  const std::string function = entry_bytes(read, entry, most);
  DwarfBytes bytes(function, entry + 4);
  const auto back = bytes.fixed<std::uint32_t>();
  if (bytes.failed() || back == 0) return std::nullopt;
  auto common = common_at(read, entry + 4 - back, most);
  if (!common) return std::nullopt;
  FunctionEntry found{.common = *std::move(common), .range = {}, .instructions = {}};
  found.range.start = bytes.pointer(found.common.pointers);
  found.range.size = bytes.pointer(found.common.pointers & 0x0fu);
  if (bytes.failed()) return std::nullopt;
  if (most < kLongestEntry) return found;
  if (found.common.augmented) bytes.take(bytes.unsigned_leb());
  if (bytes.failed()) return std::nullopt;
  found.address = bytes.address();
  found.instructions = function.substr(found.address - (entry + 4));
  return found;
}

}  // namespace

std::optional<CoveredRange> covered_by(const ReadMemory& read, std::uint64_t entry) {
  const auto function = function_entry_at(read, entry, kLongestHead);
  if (!function) return std::nullopt;
  return function->range;
}

std::optional<CallFrame> call_frame_at(const ReadMemory& read, std::uint64_t entry, std::uint64_t pc) {
  const auto function = function_entry_at(read, entry, kLongestEntry);
  if (!function || pc < function->range.start || pc - function->range.start >= function->range.size) {
    return std::nullopt;
  }
  Rows rows(function->common, function->range.start, pc);
  if (!rows.run(function->common.instructions, function->common.address)) return std::nullopt;
  rows.begin_function();
  if (!rows.run(function->instructions, function->address)) return std::nullopt;
  return rows.take();
}

}  // namespace dlaunch::stacks
