// Lines in bytes: Records splits bytes into records, which end with '\n', '\r' or "\r\n". Tail and last_lines() keep
// the last lines of a rank's output for the failure summary. A final '\r' does not end a record yet, because a '\n' may
// follow. Pure. Records returns views into the caller's bytes: the bytes must outlive the views.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

// Keeps the last lines of a rank's output for the failure summary. Tail, owned by Output for each stream, keeps raw
// bytes; last_lines() splits them into lines.

inline constexpr std::size_t kTailBytes = 4096;
inline constexpr std::size_t kStdoutTailBytes = 2048;  ///< less than for stderr: most ranks fill the tail of stdout

/// The last bytes of a stream: at least `limit` bytes, or the whole stream. Keeps at most 2 * limit bytes. Drops lines
/// that a carriage return overwrote if the space is not enough: a progress bar does not push out an error.
class Tail {
 public:
  explicit Tail(std::size_t limit = kTailBytes) : limit_(limit) {}
  void add(std::string_view bytes);
  std::string_view bytes() const { return bytes_; }
  bool whole() const { return whole_; }  ///< whether bytes() begins with the first line of the stream

 private:
  void add_end(std::string_view bytes);

  std::size_t limit_;
  std::string bytes_;
  bool whole_ = true;
};

/// The last `count` lines of `tail`, oldest first, each cut to kMaxLine bytes. Left out are empty lines, and lines that
/// a carriage return overwrote. `whole`: `tail` is the whole stream. Otherwise the first line may be incomplete and is
/// left out, unless `tail` has only one line.
std::vector<std::string> last_lines(std::string_view tail, bool whole, std::size_t count);

inline constexpr std::size_t kMaxLine = 400;

}  // namespace dlaunch::output
