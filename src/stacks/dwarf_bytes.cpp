#include "stacks/dwarf_bytes.h"

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

}  // namespace dlaunch::stacks
