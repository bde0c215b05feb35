// The stacks of the threads of a CPython interpreter, from its memory. Pure over ReadMemory: it always ends, with
// limited memory. The process runs meanwhile, so a stack may be torn; then it is read again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/digest.h"
#include "stacks/process.h"
#include "stacks/python_layout.h"
#include "stacks/sample.h"

namespace dlaunch::stacks {

// A hash of the variables in Python's frames, to detect progress: equal while no variable is set again. The address of
// a value is not enough: the number of each step may get the address of the last one.

class ValueHash {
 public:
  /// Both must outlive this object.
  ValueHash(const ReadMemory& read, const PythonLayout& layout) : read_(read), layout_(layout) {}

  void add(std::uint64_t number) { hash_.add(number); }
  /// One variable: the address of its value; also the value of a number, and the size of a list or dict.
  void add_variable(std::uint64_t value);
  /// The variables of a module or of a class body, which are in a dict.
  void add_names(std::uint64_t dict);

  std::uint64_t value() const { return hash_.value(); }

 private:
  enum class Kind { other, one_word, two_words, cell };  ///< hash of the bytes after an object's type
  static constexpr int kMostLookedInto = 2048;           ///< limit of values; further ones count by address only

  /// `cells`: limit of followed cells.
  void add_value(std::uint64_t value, int cells);
  Kind kind_of(std::uint64_t type);
  void add_entries(std::uint64_t dict);

  const ReadMemory& read_;
  const PythonLayout& layout_;
  Fnv1a hash_;
  std::map<std::uint64_t, Kind> kinds_;
  int looked_into_ = 0;
};

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
