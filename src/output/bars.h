// Bars: the last progress bar of each stream, and one line about all bars. A progress bar is text that a program
// overwrites with the help of a carriage return. Pure. Owned by Console.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::output {

inline constexpr std::size_t kMostBarBytes = 400;  ///< of the text of a bar

/// The position of a bar between 0 and 1: its first percentage, else its first pair such as 3/10 or 1.5M/3M.
std::optional<double> bar_position(std::string_view text);

class Bars {
 public:
  /// Returns the number of the next bar. `name`: "rank 3".
  int add(std::string name);
  /// `text`: the bar as its rank drew it last.
  void draw(int bar, std::string_view text);
  /// The bar was replaced by a line, or erased. The rank's next bar comes after a complete bar.
  void end(int bar);

  /// "slowest 12% (rank 3) · median 40% · fastest 61% (rank 17) · " and the slowest bar. Without a position: the bar
  /// that was drawn last. Empty without a bar.
  std::string text() const;

 private:
  struct Bar {
    std::string name;
    std::string text = {};
    int completed = 0;  ///< earlier bars with a position
  };
  std::vector<Bar> bars_;
  std::set<int> drawn_;
  int last_ = 0;
};

}  // namespace dlaunch::output
