// Where records end: at '\n', at '\r', at "\r\n" as one. A '\r' that is the last byte seen is no end yet: a '\n' may
// still come. Pure views into the caller's bytes, which must outlive them.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::output {

/// Length of the whole records at the front of `bytes`; what is behind is a partial. Looks at the end of `bytes` only.
std::size_t last_record_end(std::string_view bytes);

/// Walks over the whole records of `bytes`, front to back.
class Records {
 public:
  explicit Records(std::string_view bytes);

  /// The next whole record, its end included; empty when only a partial is left.
  std::string_view next();

  /// What next() has not given.
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

 private:
  const char* find(char c) const;

  const char* at_;
  const char* end_;
  const char* newline_;  // the first one at or after at_; end_ when there is none
  const char* carriage_return_;
};

}  // namespace dlaunch::output
