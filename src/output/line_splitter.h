// Splits bytes into records, which end with '\n', '\r' or "\r\n". A final '\r' does not end a record yet, because a
// '\n' may follow. Pure: returns views into the caller's bytes, which must outlive them.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::output {

/// Length of the complete records at the start of `bytes`; the rest is partial. Reads only the end of `bytes`.
std::size_t last_record_end(std::string_view bytes);

/// Iterates over the complete records of `bytes`.
class Records {
 public:
  explicit Records(std::string_view bytes);

  /// The next complete record with its line end; empty if only a partial record is left.
  std::string_view next();

  /// The bytes after the last record from next().
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

 private:
  const char* find(char c) const;

  const char* at_;
  const char* end_;
  const char* newline_;  // the first '\n' at or after at_, else end_
  const char* carriage_return_;
};

}  // namespace dlaunch::output
