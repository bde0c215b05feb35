// The text formats of PMI. PMI-1: lines of "key=value" pairs, separated by blanks: "cmd=get kvsname=job key=a". A value
// may contain '=' but not a blank. PMI-2: frames, with their length before the pairs. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxLine = 16u << 10;  ///< clients send at most 1 KiB, except for a word of a spawned command

/// The pairs of one line in order. The first pair is the command: "cmd" or "mcmd".
class PmiLine {
 public:
  void add(std::string key, std::string value) { pairs_.emplace_back(std::move(key), std::move(value)); }
  /// Empty: no such key.
  std::string_view operator[](std::string_view key) const;
  bool has(std::string_view key) const;
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// `text` is a line without its newline. `where` of an Error is empty.
Result<PmiLine> parse_line(std::string_view text);

/// Returns the line with its newline. A value must not contain a blank or a newline.
std::string write_line(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);

/// Splits a stream into lines. Do not use the reader after an Error.
class LineReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole line without its newline; nullopt: more bytes are needed.
  Result<std::optional<std::string>> next();
  /// Removes and returns the unread bytes: the reader of another format (PMI-2 frames) continues with them.
  std::string take_rest() { return std::exchange(buffer_, {}); }
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
};

/// The text of a client, shortened and printable, for a message.
std::string quoted(std::string_view text);

// The text format of PMI-2. A frame has its length as six characters (a decimal number with blanks before or after it),
// then pairs that end with ';': "cmd=kvs-get;key=a;". A ';' in a value is written twice. PURE.

inline constexpr size_t kMaxFrame = 999'999;  ///< the largest number of six digits

/// `text` is a frame without its length. `where` of an Error is empty.
Result<PmiLine> parse_frame(std::string_view text);

/// Returns the frame with its length. Leaves out pairs with an empty key.
std::string write_frame(const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

/// Splits a stream into frames. Do not use the reader after an Error.
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
