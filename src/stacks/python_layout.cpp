#include "stacks/python_layout.h"

#include <climits>

namespace dlaunch::stacks {
namespace {

constexpr std::uint8_t kNoOwner = 255;

/// 3.8 and 3.9.
constexpr PythonLayout kPython38{.first_interpreter = 32,
                                 .first_thread = 8,
                                 .next_thread = 8,
                                 .native_thread_id = 176,
                                 .frame = 24,
                                 .in_cframe = false,
                                 .frame_in_cframe = 0,
                                 .frame_objects = true,
                                 .index_unit = 1,
                                 .code = 32,
                                 .previous = 24,
                                 .instruction = 104,
                                 .locals = 360,
                                 .names = 56,
                                 .owner = 0,
                                 .first_c_owner = 0,
                                 .locals_count = 28,
                                 .cell_names = {80, 88},
                                 .first_line = 40,
                                 .file = 104,
                                 .name = 112,
                                 .line_table = 120,
                                 .instructions = 0,
                                 .line_at = line_of_lnotab,
                                 .dicts_have_versions = true,
                                 .ascii_text = 48,
                                 .wide_text = 72};

constexpr PythonLayout python310() {
  PythonLayout layout = kPython38;
  layout.index_unit = 2;
  layout.instruction = 96;
  layout.locals = 352;
  layout.line_at = line_of_range;
  return layout;
}

constexpr PythonLayout kPython311{.first_interpreter = 40,
                                  .first_thread = 16,
                                  .next_thread = 8,
                                  .native_thread_id = 160,
                                  .frame = 56,
                                  .in_cframe = true,
                                  .frame_in_cframe = 8,
                                  .frame_objects = false,
                                  .index_unit = 0,
                                  .code = 32,
                                  .previous = 48,
                                  .instruction = 56,
                                  .locals = 72,
                                  .names = 24,
                                  .owner = 69,
                                  .first_c_owner = kNoOwner,
                                  .locals_count = 76,
                                  .first_line = 72,
                                  .file = 112,
                                  .name = 128,
                                  .line_table = 136,
                                  .instructions = 184,
                                  .line_at = line_of_location,
                                  .dicts_have_versions = true,
                                  .ascii_text = 48,
                                  .wide_text = 72};
constexpr PythonLayout kPython312{.first_interpreter = 40,
                                  .first_thread = 72,
                                  .next_thread = 8,
                                  .native_thread_id = 144,
                                  .frame = 56,
                                  .in_cframe = true,
                                  .frame_in_cframe = 0,
                                  .frame_objects = false,
                                  .index_unit = 0,
                                  .code = 0,
                                  .previous = 8,
                                  .instruction = 56,
                                  .locals = 72,
                                  .names = 40,
                                  .owner = 70,
                                  .first_c_owner = 3,
                                  .locals_count = 72,
                                  .first_line = 68,
                                  .file = 112,
                                  .name = 128,
                                  .line_table = 136,
                                  .instructions = 192,
                                  .line_at = line_of_location,
                                  .dicts_have_versions = true,
                                  .ascii_text = 40,
                                  .wide_text = 56};
/// 3.13 and 3.14. Their own table of offsets replaces each 0 here.
constexpr PythonLayout kTable{.first_interpreter = 0,
                              .first_thread = 0,
                              .next_thread = 0,
                              .native_thread_id = 0,
                              .frame = 0,
                              .in_cframe = false,
                              .frame_in_cframe = 0,
                              .frame_objects = false,
                              .index_unit = 0,
                              .code = 0,
                              .previous = 0,
                              .instruction = 0,
                              .locals = 0,
                              .names = 40,
                              .owner = 0,
                              .first_c_owner = 3,
                              .locals_count = 72,
                              .first_line = 0,
                              .file = 0,
                              .name = 0,
                              .line_table = 0,
                              .instructions = 0,
                              .line_at = line_of_location,
                              .dicts_have_versions = false,
                              .ascii_text = 40,
                              .wide_text = 56};

/// The offsets in _Py_DebugOffsets, the beginning of _PyRuntime since 3.13, and their targets here.
struct Told {
  std::uint64_t PythonLayout::* field;
  std::uint64_t in_313;
  std::uint64_t in_314;
};
constexpr std::array kTold{Told{&PythonLayout::first_interpreter, 40, 40},
                           Told{&PythonLayout::first_thread, 72, 72},
                           Told{&PythonLayout::next_thread, 168, 192},
                           Told{&PythonLayout::native_thread_id, 200, 224},
                           Told{&PythonLayout::frame, 184, 208},
                           Told{&PythonLayout::previous, 232, 256},
                           Told{&PythonLayout::code, 240, 264},
                           Told{&PythonLayout::instruction, 248, 272},
                           Told{&PythonLayout::locals, 256, 280},
                           Told{&PythonLayout::owner, 264, 288},
                           Told{&PythonLayout::file, 280, 320},
                           Told{&PythonLayout::name, 296, 336},
                           Told{&PythonLayout::line_table, 304, 344},
                           Told{&PythonLayout::first_line, 312, 352},
                           Told{&PythonLayout::instructions, 344, 384}};
constexpr std::uint64_t kFreeThreaded = 16;

/// nullopt: the runtime has no such table, or no GIL.
std::optional<PythonLayout> told_layout(const ReadMemory& read, std::uint64_t runtime, std::uint64_t Told::* version) {
  constexpr std::uint64_t kFarthest = 1 << 20;  // limit of a structure's size
  if (bytes_at(read, runtime, 8) != "xdebugpy" || value_at<std::uint64_t>(read, runtime + kFreeThreaded) != 0) {
    return std::nullopt;
  }
  PythonLayout layout = kTable;
  for (const Told& told : kTold) {
    const auto value = value_at<std::uint64_t>(read, runtime + told.*version);
    if (!value || *value >= kFarthest) return std::nullopt;
    layout.*told.field = *value;
  }
  return layout;
}

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

std::optional<PythonLayout> layout_of(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version) {
  switch (version >> 16) {
    case 0x0308:
    case 0x0309:
      return kPython38;
    case 0x030a:
      return python310();
    case 0x030b:
      return kPython311;
    case 0x030c:
      return kPython312;
    case 0x030d:
      return told_layout(read, runtime, &Told::in_313);
    case 0x030e:
      return told_layout(read, runtime, &Told::in_314);
    default:
      return std::nullopt;
  }
}

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
