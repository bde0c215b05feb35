// DWARF expressions (DWARF 4, section 2.5), as far as call frames use them: in the stubs of shared libraries (.plt),
// and in the return from a signal handler.
#include <vector>

#include "stacks/call_frame.h"
#include "stacks/dwarf_bytes.h"

namespace dlaunch::stacks {
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
