// The end of a stream, for the failure summary. Bytes are kept raw and cut into lines only when asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::output {

inline constexpr std::size_t kTailBytes = 4096;

/// The last bytes of a stream: at least kTailBytes of them, or all.
class Tail {
 public:
  void add(std::string_view bytes);
  std::string_view bytes() const { return bytes_; }
  bool whole() const { return whole_; }  ///< nothing was dropped

 private:
  std::string bytes_;
  bool whole_ = true;
};

/// The last lines of `tail`, oldest first, each cut to kMaxLine bytes. Unless `whole` says that nothing is missing
/// before `tail`, its first line is taken for a partial one and left out, except when it is the only one.
std::vector<std::string> last_lines(std::string_view tail, bool whole, std::size_t count);

inline constexpr std::size_t kMaxLine = 400;

}  // namespace dlaunch::output
