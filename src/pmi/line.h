// PMI-1's text: lines of "key=value" pairs, separated by blanks, as "cmd=get kvsname=job key=a". A value may hold '='
// but no blank. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxLine = 16u << 10;  ///< clients send at most 1 KiB, but for a word of a spawned command

/// The pairs of one line in their order. The first is the command: "cmd" or "mcmd".
class PmiLine {
 public:
  void add(std::string key, std::string value) { pairs_.emplace_back(std::move(key), std::move(value)); }
  /// Empty when there is no such key.
  std::string_view operator[](std::string_view key) const;
  bool has(std::string_view key) const;
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// `text` is a line without its newline. An Error has no `where`.
Result<PmiLine> parse_line(std::string_view text);

/// Returns the line with its newline. No value may hold a blank or a newline.
std::string write_line(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);

/// Cuts a stream into lines. It must not be used after an Error.
class LineReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole line without its newline; nullopt when more bytes are needed.
  Result<std::optional<std::string>> next();
  /// Takes what was fed and not yet read, for a reader of another format.
  std::string take_rest() { return std::exchange(buffer_, {}); }
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
};

/// A client's text, cut and made printable for a message.
std::string quoted(std::string_view text);

}  // namespace dlaunch::pmi
