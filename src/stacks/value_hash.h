// A hash of the variables in Python's frames, to detect progress: equal while no variable is set again. The address of
// a value is not enough: the number of each step may get the address of the last one.
#pragma once

#include <cstdint>
#include <map>

#include "base/digest.h"
#include "stacks/memory.h"
#include "stacks/python_layout.h"

namespace dlaunch::stacks {

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

}  // namespace dlaunch::stacks
