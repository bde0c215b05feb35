// The stacks of the threads of a CPython interpreter, from its memory. Pure over ReadMemory: it always ends, with
// limited memory. The process runs meanwhile, so a stack may be torn; then it is read again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stacks/elf.h"
#include "stacks/memory.h"
#include "stacks/sample.h"

namespace dlaunch::stacks {

struct PythonThread {
  std::uint64_t native_id = 0;  ///< as seen by the process
  std::vector<Frame> frames;
  std::uint64_t locals_hash = 0;
};

struct PythonStacks {
  std::vector<PythonThread> threads;
  std::string trouble;  ///< the reason for missing or incomplete stacks
};

/// The version of the CPython with these symbols, as PY_VERSION_HEX. Before 3.11 the new functions of each release
/// identify it: 0x03090000 is any 3.9. 0: older than 3.8.
std::uint32_t find_python_version(const ReadMemory& read, const DynamicSymbols& symbols);

/// `runtime`: the address of _PyRuntime. After the budget is used up, the result is incomplete.
PythonStacks read_python(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version, Budget& budget);

/// The text of a version: "3.11.2".
std::string python_version(std::uint32_t version);

}  // namespace dlaunch::stacks
