// Reads words of a hostfile or rankfile and knows their places. Pure. The text must outlive the scanner.
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

  /// Skips blanks and comments, but not the line's end. An Error when a comment is not closed.
  Result<void> skip_blanks();

  bool at_end() const { return at_ == text_.size(); }
  bool at_line_end() const;
  void next_line();

  /// Takes the text up to a blank, a '=' or a comment.
  std::string_view take_word();

  /// Takes the text up to a blank, or the content of "…". An Error when the quote is not closed on its line.
  Result<std::string> take_value();

  /// Skips blanks and takes a '='; false when none follows.
  Result<bool> take_equals();

  std::string line() const { return name_ + ":" + std::to_string(line_); }
  std::string here() const { return place(at_); }

  /// "name:line:column" of the word that was taken last.
  std::string word_place() const { return place(word_); }

 private:
  std::string place(size_t at) const;
  bool comment_begins() const;

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
  size_t word_ = 0;        // where the last word began
  size_t line_start_ = 0;  // where line_ begins
  int line_ = 1;
};

}  // namespace dlaunch::allocate
