#include "transport/ssh/encoding.h"

namespace dlaunch::transport::ssh {
namespace {

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

}  // namespace

std::string packed(std::string_view bytes) {
  return big_endian(static_cast<std::uint32_t>(bytes.size())).append(bytes);
}

std::string packed_number(std::uint32_t number) { return big_endian(number); }

std::optional<std::uint32_t> unpack_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const std::uint32_t number = big_endian(reinterpret_cast<const unsigned char*>(bytes.data()));
  bytes.remove_prefix(4);
  return number;
}

std::optional<std::string_view> unpack(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto size = unpack_number(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  bytes = rest.substr(*size);
  return rest.substr(0, *size);
}

}  // namespace dlaunch::transport::ssh
