// Where CPython keeps what a stack is made of: offsets in its structures, in bytes, for 64-bit builds with a GIL. A
// version's were made by compiling offsetof() against its headers; patch releases of a version agree.
#pragma once

#include <cstdint>

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
  // in _PyInterpreterFrame
  std::uint64_t code;
  std::uint64_t previous;
  std::uint64_t instruction;
  std::uint64_t locals;
  std::uint64_t owner;
  std::uint8_t c_stack_owner;  // a frame with it is no Python function's
  // in PyCodeObject
  std::uint64_t locals_count;
  std::uint64_t first_line;
  std::uint64_t file;
  std::uint64_t name;  // the qualified one
  std::uint64_t line_table;
  std::uint64_t instructions;
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

inline constexpr std::uint8_t kNoOwner = 255;
inline constexpr PythonLayout kPython311{.first_interpreter = 40,
                                         .first_thread = 16,
                                         .next_thread = 8,
                                         .native_thread_id = 160,
                                         .frame = 56,
                                         .in_cframe = true,
                                         .frame_in_cframe = 8,
                                         .code = 32,
                                         .previous = 48,
                                         .instruction = 56,
                                         .locals = 72,
                                         .owner = 69,
                                         .c_stack_owner = kNoOwner,
                                         .locals_count = 76,
                                         .first_line = 72,
                                         .file = 112,
                                         .name = 128,
                                         .line_table = 136,
                                         .instructions = 184,
                                         .ascii_text = 48,
                                         .wide_text = 72};
inline constexpr PythonLayout kPython312{.first_interpreter = 40,
                                         .first_thread = 72,
                                         .next_thread = 8,
                                         .native_thread_id = 144,
                                         .frame = 56,
                                         .in_cframe = true,
                                         .frame_in_cframe = 0,
                                         .code = 0,
                                         .previous = 8,
                                         .instruction = 56,
                                         .locals = 72,
                                         .owner = 70,
                                         .c_stack_owner = 3,
                                         .locals_count = 72,
                                         .first_line = 68,
                                         .file = 112,
                                         .name = 128,
                                         .line_table = 136,
                                         .instructions = 192,
                                         .ascii_text = 40,
                                         .wide_text = 56};
/// Its own table of offsets stands for what is 0 here.
inline constexpr PythonLayout kPython313{.first_interpreter = 0,
                                         .first_thread = 0,
                                         .next_thread = 0,
                                         .native_thread_id = 0,
                                         .frame = 0,
                                         .in_cframe = false,
                                         .frame_in_cframe = 0,
                                         .code = 0,
                                         .previous = 0,
                                         .instruction = 0,
                                         .locals = 0,
                                         .owner = 0,
                                         .c_stack_owner = 3,
                                         .locals_count = 72,
                                         .first_line = 0,
                                         .file = 0,
                                         .name = 0,
                                         .line_table = 0,
                                         .instructions = 0,
                                         .ascii_text = 40,
                                         .wide_text = 56};

/// Where _Py_DebugOffsets, with which _PyRuntime of 3.13 begins, has them.
struct DebugOffsets313 {
  static constexpr std::uint64_t kFreeThreaded = 16, kFirstInterpreter = 40, kFirstThread = 72, kNextThread = 168,
                                 kFrame = 184, kNativeThreadId = 200, kPrevious = 232, kCode = 240, kInstruction = 248,
                                 kLocals = 256, kOwner = 264, kFile = 280, kName = 296, kLineTable = 304,
                                 kFirstLine = 312, kInstructions = 344;
};

}  // namespace dlaunch::stacks
