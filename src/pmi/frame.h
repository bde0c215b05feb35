// The text format of PMI-2. A frame has its length as six characters (a decimal number with blanks before or after it),
// then pairs that end with ';': "cmd=kvs-get;key=a;". A ';' in a value is written twice. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "pmi/line.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxFrame = 999'999;  ///< the largest number of six digits

/// `text` is a frame without its length. `where` of an Error is empty.
Result<PmiLine> parse_frame(std::string_view text);

/// Returns the frame with its length. Leaves out pairs with an empty key.
std::string write_frame(const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

/// Splits a stream into frames. Do not use it after an Error.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole frame without its length; nullopt: more bytes are needed.
  Result<std::optional<std::string>> next();
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
};

}  // namespace dlaunch::pmi
