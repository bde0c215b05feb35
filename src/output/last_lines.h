// Keeps the last lines of a rank's output for the failure summary. Tail, owned by Output for each stream, keeps raw
// bytes; last_lines() splits them into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::output {

inline constexpr std::size_t kTailBytes = 4096;
inline constexpr std::size_t kStdoutTailBytes = 2048;  ///< less than for stderr: most ranks fill the tail of stdout

/// The last bytes of a stream: at least `limit` bytes, or the whole stream. Keeps at most 2 * limit bytes.
class Tail {
 public:
  explicit Tail(std::size_t limit = kTailBytes) : limit_(limit) {}
  void add(std::string_view bytes);
  std::string_view bytes() const { return bytes_; }
  bool whole() const { return whole_; }  ///< whether bytes() is the whole stream

 private:
  std::size_t limit_;
  std::string bytes_;
  bool whole_ = true;
};

/// The last `count` lines of `tail`, oldest first, each cut to kMaxLine bytes. Empty lines are left out. `whole`:
/// `tail` is the whole stream. Otherwise the first line may be incomplete and is left out, unless `tail` has only one
/// line.
std::vector<std::string> last_lines(std::string_view tail, bool whole, std::size_t count);

inline constexpr std::size_t kMaxLine = 400;

}  // namespace dlaunch::output
