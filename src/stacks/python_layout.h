// The offsets in CPython's structures for reading a stack, in bytes, for 64-bit builds with a GIL. They were made by
// compiling offsetof() with the headers of each version; patch releases of a version agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stacks/process.h"

namespace dlaunch::stacks {

/// `offset`: of the instruction, in bytes from the first instruction. 0: no line, or a malformed table.
using LineAt = int (*)(std::string_view table, int first_line, std::size_t offset);

/// `table`: co_lnotab, until 3.9 (CPython's Objects/lnotab_notes.txt).
int line_of_lnotab(std::string_view table, int first_line, std::size_t offset);
/// `table`: co_linetable of 3.10 (PEP 626).
int line_of_range(std::string_view table, int first_line, std::size_t offset);
/// `table`: co_linetable of 3.11 and later (CPython's Objects/locations.md).
int line_of_location(std::string_view table, int first_line, std::size_t offset);

struct PythonLayout {
  // in _PyRuntime
  std::uint64_t first_interpreter;
  // in PyInterpreterState
  std::uint64_t first_thread;
  // in PyThreadState
  std::uint64_t next_thread;
  std::uint64_t native_thread_id;
  std::uint64_t frame;  // the current frame; with `in_cframe`, the address of its address
  bool in_cframe;
  std::uint64_t frame_in_cframe;
  /// Up to 3.10 a frame is an object without an owner, and has the index of its instruction instead of the address; a
  /// thread has its pthread_t instead of its number.
  bool frame_objects;
  std::uint64_t index_unit;  // bytes
  // in the frame
  std::uint64_t code;
  std::uint64_t previous;
  std::uint64_t instruction;
  std::uint64_t locals;
  std::uint64_t names;  // a dict with the variables of a module or of a class body; null in a function
  std::uint64_t owner;
  // a frame with this value or a larger one does not belong to a Python function. In PyCodeObject:
  std::uint8_t first_c_owner;
  std::uint64_t locals_count;
  std::array<std::uint64_t, 2> cell_names = {};  // tuples of names outside of the count; 0: none
  std::uint64_t first_line;
  std::uint64_t file;
  std::uint64_t name;  // the qualified name, if there is one
  std::uint64_t line_table;
  std::uint64_t instructions;
  LineAt line_at;
  // PyDictObject has a version; otherwise its keys are as in 3.11 and later. After the header of a str, which is
  // shorter for ASCII:
  bool dicts_have_versions;
  std::uint64_t ascii_text;
  std::uint64_t wide_text;
};

// Equal for all of them.
inline constexpr std::uint64_t kObjectType = 8;
inline constexpr std::uint64_t kTextLength = 16;
inline constexpr std::uint64_t kTextState = 32;
inline constexpr std::uint64_t kBytesSize = 16;
inline constexpr std::uint64_t kBytesData = 32;
inline constexpr std::uint64_t kPointerTag = 7;  // flags in the last bits of an address

/// The offset of a thread's number in its pthread_t, in all releases of glibc. Not in musl.
#ifdef __x86_64__
inline constexpr std::uint64_t kNumberInPthread = 720;
#else
inline constexpr std::uint64_t kNumberInPthread = 208;
#endif

/// nullopt: unknown version, or without GIL. `version`: as in Py_Version.
std::optional<PythonLayout> layout_of(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version);

}  // namespace dlaunch::stacks
