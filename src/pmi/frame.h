// PMI-2's text: a frame is its length in six characters, a decimal number with blanks before or after it, and then
// "cmd=kvs-get;key=a;": pairs that each end with ';'. A ';' in a value is written twice. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "pmi/line.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxFrame = 999'999;  ///< the most that six characters can say

/// `text` is a frame without its length. An Error has no `where`.
Result<PmiLine> parse_frame(std::string_view text);

/// Returns the frame with its length. Pairs with an empty key are left out.
std::string write_frame(const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

/// Cuts a stream into frames. It must not be used after an Error.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole frame without its length; nullopt when more bytes are needed.
  Result<std::optional<std::string>> next();
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
};

}  // namespace dlaunch::pmi
