// Words of a hostfile or rankfile, with where they stand. Pure. The text must outlive the scanner.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::allocate {

class Scanner {
 public:
  /// `name` is the file's, for where().
  Scanner(std::string_view text, std::string name);

  /// Past blanks and comments, but not past the line's end. False when a comment is never closed.
  Result<void> skip_blanks();

  bool at_end() const { return at_ == text_.size(); }
  bool at_line_end() const;
  void next_line();

  /// Up to a blank, a '=' or a comment.
  std::string_view take_word();

  /// All up to a blank, or what stands in "…". An Error when the quote is not closed on its line.
  Result<std::string> take_value();

  /// Takes the '=' that comes next, after blanks; false, moving past blanks only, when there is none.
  Result<bool> take_equals();

  std::string line() const { return name_ + ":" + std::to_string(line_); }
  std::string here() const { return place(at_); }

  /// "name:line:column" of the word taken last.
  std::string word_place() const { return place(word_); }

 private:
  std::string place(size_t at) const;
  bool comment_begins() const;

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
  size_t word_ = 0;        // where the last word began
  size_t line_start_ = 0;  // of line_
  int line_ = 1;
};

}  // namespace dlaunch::allocate
