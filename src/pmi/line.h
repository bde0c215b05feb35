// PMI-1's text: lines of "key=value" pairs with a blank between, as "cmd=get kvsname=job key=a". A value runs to the
// next blank, so it has none; '=' may stand in it. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::pmi {

inline constexpr size_t kMaxLine = 16u << 10;  ///< clients send 1 KiB at most, but for a word of spawn's command line

/// The pairs of one line in their order. The first is the command: "cmd" or "mcmd".
class PmiLine {
 public:
  void add(std::string key, std::string value) { pairs_.emplace_back(std::move(key), std::move(value)); }
  /// Empty when it has none of that key.
  std::string_view operator[](std::string_view key) const;
  bool has(std::string_view key) const;
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// Without its newline. An Error has no `where`.
Result<PmiLine> parse_line(std::string_view text);

/// With its newline. No value may have a blank or a newline.
std::string write_line(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);

/// Cuts a stream into lines. After an Error it must not be used again.
class LineReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole line without its newline; nullopt when more bytes are needed.
  Result<std::optional<std::string>> next();
  /// What was fed and is not yet taken, for who reads on by other rules.
  std::string take_rest() { return std::exchange(buffer_, {}); }
  bool empty() const { return buffer_.empty(); }

 private:
  std::string buffer_;
};

/// What a client said, cut and made printable for a message.
std::string quoted(std::string_view text);

}  // namespace dlaunch::pmi
