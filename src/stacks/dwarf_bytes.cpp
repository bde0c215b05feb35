#include "stacks/dwarf_bytes.h"

#include <vector>

#include "stacks/call_frame.h"

namespace dlaunch::stacks {
namespace {

// DW_EH_PE_*: the format of a value, and its base.
constexpr std::uint8_t kForm = 0x0f;
constexpr std::uint8_t kRelation = 0x70;
constexpr std::uint8_t kRelativeToPlace = 0x10;

}  // namespace

std::string_view DwarfBytes::take(std::uint64_t size) {
  if (failed_ || size > bytes_.size() - at_) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

std::string_view DwarfBytes::text() {
  const std::size_t end = failed_ ? std::string_view::npos : bytes_.find('\0', at_);
  if (end == std::string_view::npos) {
    failed_ = true;
    return {};
  }
  const std::string_view text = take(end - at_);
  take(1);
  return text;
}

std::pair<std::uint64_t, unsigned> DwarfBytes::leb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = fixed<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80u) == 0) return {value, shift + 7};
  }
  failed_ = true;
  return {0, 64};
}

std::int64_t DwarfBytes::signed_leb() {
  const auto [value, bits] = leb();
  const bool negative = bits < 64 && ((value >> (bits - 1)) & 1u) != 0;
  return static_cast<std::int64_t>(negative ? value | (~std::uint64_t{0} << bits) : value);
}

std::uint64_t DwarfBytes::pointer(std::uint8_t encoding) {
  const std::uint64_t place = address();
  std::uint64_t value = 0;
  switch (encoding & kForm) {
    case 0x00:  // absptr
    case 0x04:  // udata8
    case 0x0c:  // sdata8
      value = fixed<std::uint64_t>();
      break;
    case 0x03:  // udata4
      value = fixed<std::uint32_t>();
      break;
    case 0x0b:  // sdata4
      value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
      break;
    default:
      failed_ = true;
  }
  if ((encoding & kRelation) == kRelativeToPlace) return value + place;
  if ((encoding & kRelation) != 0) failed_ = true;
  return value;
}

// DWARF expressions (DWARF 4, section 2.5), as far as call frames use them: in the stubs of shared libraries (.plt),
// and in the return from a signal handler.

namespace {

constexpr std::size_t kMostOperations = 256;

class Stack {
 public:
  bool failed() const { return failed_; }
  void push(std::uint64_t value) { values_.push_back(value); }
  std::uint64_t pop() {
    if (values_.empty()) {
      failed_ = true;
      return 0;
    }
    const std::uint64_t value = values_.back();
    values_.pop_back();
    return value;
  }

 private:
  std::vector<std::uint64_t> values_;
  bool failed_ = false;
};

bool is_binary(std::uint8_t code) {
  return code == 0x1a || code == 0x1c || code == 0x21 || code == 0x22 || code == 0x24 || code == 0x2a;
}

std::uint64_t binary(std::uint8_t code, std::uint64_t left, std::uint64_t right) {
  switch (code) {
    case 0x1a:  // and
      return left & right;
    case 0x1c:  // minus
      return left - right;
    case 0x21:  // or
      return left | right;
    case 0x22:  // plus
      return left + right;
    case 0x24:  // shl
      return right < 64 ? left << right : 0;
    default:  // 0x2a, ge
      return static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right) ? 1 : 0;
  }
}

/// The constants of DW_OP_const1u to DW_OP_consts; nullopt: another operation.
std::optional<std::uint64_t> constant(std::uint8_t code, DwarfBytes& bytes) {
  const auto widened = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  switch (code) {
    case 0x08:
      return bytes.fixed<std::uint8_t>();
    case 0x09:
      return widened(bytes.fixed<std::int8_t>());
    case 0x0a:
      return bytes.fixed<std::uint16_t>();
    case 0x0b:
      return widened(bytes.fixed<std::int16_t>());
    case 0x0c:
      return bytes.fixed<std::uint32_t>();
    case 0x0d:
      return widened(bytes.fixed<std::int32_t>());
    case 0x10:
      return bytes.unsigned_leb();
    case 0x11:
      return widened(bytes.signed_leb());
    default:
      return std::nullopt;
  }
}

bool run(std::uint8_t code, DwarfBytes& bytes, Stack& stack, const ReadMemory& read, const Registers& frame) {
  if (code >= 0x30 && code <= 0x4f) {  // lit0 to lit31
    stack.push(code - 0x30u);
    return true;
  }
  if (code >= 0x70 && code <= 0x8f) {  // breg0 to breg31
    const std::size_t number = code - 0x70u;
    const auto offset = static_cast<std::uint64_t>(bytes.signed_leb());
    if (number >= Registers::kCount || !frame[number]) return false;
    stack.push(*frame[number] + offset);
    return true;
  }
  if (is_binary(code)) {
    const std::uint64_t right = stack.pop();
    stack.push(binary(code, stack.pop(), right));
    return true;
  }
  if (code == 0x06) {  // deref
    const auto value = value_at<std::uint64_t>(read, stack.pop());
    stack.push(value.value_or(0));
    return value.has_value();
  }
  if (code == 0x23) {  // plus_uconst
    stack.push(stack.pop() + bytes.unsigned_leb());
    return true;
  }
  const auto value = constant(code, bytes);
  stack.push(value.value_or(0));
  return value.has_value();
}

}  // namespace

std::optional<std::uint64_t> expression_value(const ReadMemory& read, const std::string& expression,
                                              const Registers& frame, std::optional<std::uint64_t> initial) {
  DwarfBytes bytes(expression, 0);
  Stack stack;
  if (initial) stack.push(*initial);
  for (std::size_t i = 0; !bytes.at_end(); ++i) {
    if (i == kMostOperations || !run(bytes.fixed<std::uint8_t>(), bytes, stack, read, frame)) return std::nullopt;
    if (stack.failed() || bytes.failed()) return std::nullopt;
  }
  const std::uint64_t value = stack.pop();
  if (stack.failed()) return std::nullopt;
  return value;
}

}  // namespace dlaunch::stacks
