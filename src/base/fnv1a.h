// FNV-1a, 64 bits: a hash without cryptographic strength, equal on every machine. PURE.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlaunch {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) add_byte(static_cast<unsigned char>(byte));
  }
  /// Hashes the lowest byte first.
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(number >> shift & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace dlaunch
