// Reads numbers in DWARF's encodings, in order, from the bytes of an address. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace dlaunch::stacks {

/// After the first incomplete number failed() is true, and every further number is 0.
class DwarfBytes {
 public:
  /// `bytes` must outlive the reader.
  DwarfBytes(std::string_view bytes, std::uint64_t address) : bytes_(bytes), address_(address) {}

  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || at_ == bytes_.size(); }
  std::uint64_t address() const { return address_ + at_; }

  template <class T>
  T fixed() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, std::span(bytes).data(), sizeof value);
    return value;
  }
  std::uint64_t unsigned_leb() { return leb().first; }
  std::int64_t signed_leb();
  /// A text up to a zero byte.
  std::string_view text();
  std::string_view take(std::uint64_t size);
  /// A pointer in an encoding DW_EH_PE_*, absolute or relative to its own address.
  std::uint64_t pointer(std::uint8_t encoding);

 private:
  std::pair<std::uint64_t, unsigned> leb();  // value and number of its bits

  std::string_view bytes_;
  std::uint64_t address_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace dlaunch::stacks
