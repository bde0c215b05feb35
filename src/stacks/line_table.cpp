#include "stacks/line_table.h"

#include <climits>
#include <cstdint>

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kUnit = 2;  // number of instruction bytes
constexpr int kMostVarint = 6;    // chunks of six bits

/// The chunks of six bits of line_table, lowest first; bit 6 announces another chunk.
std::uint32_t varint(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < kMostVarint && !bytes.empty(); ++i, bytes.remove_prefix(1)) {
    const auto chunk = static_cast<unsigned char>(bytes.front());
    value |= static_cast<std::uint32_t>(chunk & 0x3f) << (6 * i);
    if ((chunk & 0x40) == 0) break;
  }
  return value;
}

std::int64_t signed_varint(std::string_view bytes) {
  const std::uint32_t value = varint(bytes);
  return (value & 1) != 0 ? -static_cast<std::int64_t>(value >> 1) : static_cast<std::int64_t>(value >> 1);
}

int in_range(std::int64_t line) { return line < 0 || line > INT_MAX ? 0 : static_cast<int>(line); }

/// The old tables have pairs of bytes: a number of instruction bytes, and a number of lines.
struct Pair {
  std::size_t bytes = 0;
  int lines = 0;
};

Pair take_pair(std::string_view& table) {
  const Pair pair{static_cast<unsigned char>(table[0]), static_cast<signed char>(table[1])};
  table.remove_prefix(2);
  return pair;
}

}  // namespace

/// The bytes of a pair precede the instruction of its line.
int line_of_lnotab(std::string_view table, int first_line, std::size_t offset) {
  std::int64_t line = first_line;
  std::size_t at = 0;
  while (table.size() >= 2) {
    const Pair pair = take_pair(table);
    at += pair.bytes;
    if (at > offset) break;
    line += pair.lines;
  }
  return in_range(line);
}

/// The line of a pair is the line of its bytes.
int line_of_range(std::string_view table, int first_line, std::size_t offset) {
  constexpr int kNoLine = -128;
  std::int64_t line = first_line;
  std::size_t end = 0;
  while (table.size() >= 2) {
    const Pair pair = take_pair(table);
    end += pair.bytes;
    if (pair.lines != kNoLine) line += pair.lines;
    if (offset < end) return pair.lines == kNoLine ? 0 : in_range(line);
  }
  return 0;
}

int line_of_location(std::string_view table, int first_line, std::size_t offset) {
  std::int64_t line = first_line;
  std::size_t end = 0;
  while (!table.empty()) {
    const auto head = static_cast<unsigned char>(table.front());
    table.remove_prefix(1);
    const int code = head >> 3 & 0xf;
    end += kUnit * ((head & 7u) + 1);
    if (code == 13 || code == 14) line += signed_varint(table);
    if (code >= 10 && code <= 12) line += code - 10;
    if (line < 0 || line > INT_MAX) return 0;
    if (offset < end) return code == 15 ? 0 : static_cast<int>(line);
    while (!table.empty() && (table.front() & 0x80) == 0) table.remove_prefix(1);
  }
  return 0;
}

}  // namespace dlaunch::stacks
