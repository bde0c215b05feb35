// Splits one stream of a rank into lines to search for progress numbers. A passive value. Owned by ProgressWatch, one
// for each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::launcher {

class ProgressLines {
 public:
  static constexpr std::size_t kLongest = 4096;  ///< dlaunch searches only the first bytes of a line
  using Read = std::function<std::optional<std::int64_t>(std::string_view line)>;

  /// Returns the progress in the last of these lines with a number. Lines end at a newline or a carriage return.
  std::optional<std::int64_t> feed(std::string_view bytes, const Read& read);
  /// The stream has ended: searches the unfinished line.
  std::optional<std::int64_t> end(const Read& read);

 private:
  static constexpr std::size_t kKept = kLongest + 1;  // one byte more than the limit marks a longer line

  std::string begun_;  // the unfinished line
};

}  // namespace dlaunch::launcher
