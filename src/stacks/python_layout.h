// Where CPython keeps what a stack is made of: offsets in its structures, in bytes, for 64-bit builds with a GIL. A
// version's were made by compiling offsetof() against its headers; patch releases of a version agree.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stacks/line_table.h"
#include "stacks/memory.h"

namespace dlaunch::stacks {

struct PythonLayout {
  // in _PyRuntime
  std::uint64_t first_interpreter;
  // in PyInterpreterState
  std::uint64_t first_thread;
  // in PyThreadState
  std::uint64_t next_thread;
  std::uint64_t native_thread_id;
  std::uint64_t frame;  // the current frame; with `in_cframe`, the address of what holds its address
  bool in_cframe;
  std::uint64_t frame_in_cframe;
  /// Until 3.10 a frame is an object, has no owner, and tells the index of its instruction instead of the address; a
  /// thread tells its pthread_t instead of its number.
  bool frame_objects;
  std::uint64_t index_unit;  // bytes
  // in the frame
  std::uint64_t code;
  std::uint64_t previous;
  std::uint64_t instruction;
  std::uint64_t locals;
  std::uint64_t names;  // a dict of the variables of a module or of a class's body; null in a function
  std::uint64_t owner;
  std::uint8_t first_c_owner;  // a frame with it, or with a larger one, is no Python function's
  // in PyCodeObject
  std::uint64_t locals_count;
  std::array<std::uint64_t, 2> cell_names = {};  // tuples of names whose variables it does not count; 0: none
  std::uint64_t first_line;
  std::uint64_t file;
  std::uint64_t name;  // the qualified one, where there is one
  std::uint64_t line_table;
  std::uint64_t instructions;
  LineAt line_at;
  bool dicts_have_versions;  // PyDictObject says where it was changed; else its keys are as in 3.11 and later
  // behind a str's header, which is shorter where it has ASCII only
  std::uint64_t ascii_text;
  std::uint64_t wide_text;
};

// Equal in all of them.
inline constexpr std::uint64_t kObjectType = 8;
inline constexpr std::uint64_t kTextLength = 16;
inline constexpr std::uint64_t kTextState = 32;
inline constexpr std::uint64_t kBytesSize = 16;
inline constexpr std::uint64_t kBytesData = 32;
inline constexpr std::uint64_t kPointerTag = 7;  // the last bits of an address may say how it is counted

/// Where a thread's number is behind its pthread_t, in all releases of glibc. musl has something else there.
#ifdef __x86_64__
inline constexpr std::uint64_t kNumberInPthread = 720;
#else
inline constexpr std::uint64_t kNumberInPthread = 208;
#endif

/// nullopt: no such version is known, or it has no GIL. `version`: as Py_Version has it.
std::optional<PythonLayout> layout_of(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version);

}  // namespace dlaunch::stacks
