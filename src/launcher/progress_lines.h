// The lines of one stream, as far as they are looked at for a rank's progress. A passive value.
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
  static constexpr std::size_t kLongest = 4096;  ///< bytes of a line that are looked at, the first ones
  using Read = std::function<std::optional<std::int64_t>(std::string_view line)>;

  /// The progress in the last of these lines that tells one. Lines end at a newline or a carriage return.
  std::optional<std::int64_t> feed(std::string_view bytes, const Read& read);
  /// The stream has ended: the same for a line without an end.
  std::optional<std::int64_t> end(const Read& read);

 private:
  static constexpr std::size_t kKept = kLongest + 1;  // tells that a line is longer

  std::string begun_;  // of the line that has not ended
};

}  // namespace dlaunch::launcher
