// The stacks of a CPython interpreter's threads, from its memory. Pure over ReadMemory: whatever it reads, it ends,
// with bounded memory. The process goes on meanwhile, so a stack may be torn; a torn one is read again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stacks/elf.h"
#include "stacks/memory.h"
#include "stacks/sample.h"

namespace dlaunch::stacks {

struct PythonThread {
  std::uint64_t native_id = 0;  ///< as the process itself sees it
  std::vector<Frame> frames;
  std::uint64_t locals_hash = 0;
};

struct PythonStacks {
  std::vector<PythonThread> threads;
  std::string trouble;  ///< why there are none, or some are incomplete
};

/// The version of the CPython with these symbols, as PY_VERSION_HEX. Before 3.11 none tells it, and the functions that
/// came with each release do: 0x03090000 is any 3.9. 0: it is before 3.8.
std::uint32_t find_python_version(const ReadMemory& read, const DynamicSymbols& symbols);

/// `runtime`: the address of _PyRuntime.
PythonStacks read_python(const ReadMemory& read, std::uint64_t runtime, std::uint32_t version);

/// "3.11.2" of a version.
std::string python_version(std::uint32_t version);

}  // namespace dlaunch::stacks
