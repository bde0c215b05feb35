// Where records end: at '\n', at '\r', and at "\r\n" as one. A final '\r' does not end a record yet, because a '\n' may
// follow. Pure: views into the caller's bytes, which must outlive them.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::output {

/// Length of the whole records at the front of `bytes`; the rest is partial. Examines only the end of `bytes`.
std::size_t last_record_end(std::string_view bytes);

/// Iterates over the whole records of `bytes`.
class Records {
 public:
  explicit Records(std::string_view bytes);

  /// The next whole record with its end; empty when only a partial one is left.
  std::string_view next();

  /// The bytes that next() has not returned.
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

 private:
  const char* find(char c) const;

  const char* at_;
  const char* end_;
  const char* newline_;  // the first one at or after at_; end_ when there is none
  const char* carriage_return_;
};

}  // namespace dlaunch::output
