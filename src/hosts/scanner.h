// Reads words of a hostfile or rankfile with their positions. Pure. The text must outlive the scanner.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::hosts {

class Scanner {
 public:
  /// `name` is the file name, for where().
  Scanner(std::string_view text, std::string name);

  /// Skips blanks and comments, but not the end of the line. An Error for a comment without its end.
  Result<void> skip_blanks();

  bool at_end() const { return at_ == text_.size(); }
  bool at_line_end() const;
  void next_line();

  /// Reads the text up to a blank, a '=' or a comment.
  std::string_view take_word();

  /// Reads the text up to a blank, or the content of "…". An Error for a quote without its end on the line.
  Result<std::string> take_value();

  /// Skips blanks and reads a '='; false without a '='.
  Result<bool> take_equals();

  std::string line() const { return name_ + ":" + std::to_string(line_); }
  std::string here() const { return place(at_); }

  /// "name:line:column" of the last word.
  std::string word_place() const { return place(word_); }

 private:
  std::string place(size_t at) const;
  bool comment_begins() const;

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
  size_t word_ = 0;        // start of the last word
  size_t line_start_ = 0;  // start of line_
  int line_ = 1;
};

}  // namespace dlaunch::hosts
