// A hash of variables of Python's frames, which tells whether a program moves: equal while none of them is set anew. An
// address alone does not tell: where a number is set anew for each step, the new one often lies where an old one lay.
#pragma once

#include <cstdint>
#include <map>

#include "base/fnv1a.h"
#include "stacks/memory.h"
#include "stacks/python_layout.h"

namespace dlaunch::stacks {

class ValueHash {
 public:
  /// Both must outlive this.
  ValueHash(const ReadMemory& read, const PythonLayout& layout) : read_(read), layout_(layout) {}

  void add(std::uint64_t number) { hash_.add(number); }
  /// A variable: the address of its value, and of a number the number, of a list or dict how it has grown.
  void add_variable(std::uint64_t value);
  /// The variables of a module or of a class's body, which are in a dict.
  void add_names(std::uint64_t dict);

  std::uint64_t value() const { return hash_.value(); }

 private:
  enum class Kind { other, one_word, two_words, cell };  ///< of what lies behind an object's type
  static constexpr int kMostLookedInto = 2048;           ///< values; of the others the address must do

  /// `cells`: how many may be followed.
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
