#include "launcher/progress_lines.h"

#include <cstring>
#include <utility>

namespace dlaunch::launcher {
namespace {

using std::string_view;

/// Removes the text after the last `end`, and the `end`, from the back of `bytes`, and returns the text.
string_view take_last(string_view& bytes, char end) {
  const void* const at = bytes.empty() ? nullptr : ::memrchr(bytes.data(), end, bytes.size());
  const std::size_t before = at ? static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()) : 0;
  const string_view last = bytes.substr(at ? before + 1 : 0);
  bytes = bytes.substr(0, before);
  return last;
}

std::size_t behind_last_end(string_view bytes) {
  const std::size_t newline = bytes.rfind('\n');
  const std::size_t from = newline == string_view::npos ? 0 : newline + 1;
  const std::size_t carriage_return = bytes.substr(from).rfind('\r');
  return carriage_return == string_view::npos ? from : from + carriage_return + 1;
}

/// The part of a line to search. Drops a number cut at the limit, because the cut number would be wrong.
string_view beginning(string_view line) {
  if (line.size() <= ProgressLines::kLongest) return line;
  line = line.substr(0, ProgressLines::kLongest);
  return line.substr(0, line.find_last_not_of("0123456789") + 1);
}

std::optional<std::int64_t> read_line(string_view line, const ProgressLines::Read& read) {
  return line.empty() ? std::nullopt : read(beginning(line));
}

}  // namespace

std::optional<std::int64_t> ProgressLines::feed(string_view bytes, const Read& read) {
  const std::size_t ended = behind_last_end(bytes);
  const auto add = [](std::string& line, string_view more) {
    if (line.size() < kKept) line += more.substr(0, kKept - line.size());
  };
  std::string first;
  if (ended > 0) {  // the first line of `bytes` began earlier
    first = std::exchange(begun_, {});
    add(first, bytes.substr(0, bytes.find_first_of("\r\n")));
  }
  add(begun_, bytes.substr(ended));
  string_view lines = bytes.substr(0, ended);
  const auto* const first_line = lines.data();
  while (!lines.empty()) {
    string_view line = take_last(lines, '\n');
    while (!line.empty()) {
      const string_view part = take_last(line, '\r');
      if (part.data() == first_line) break;
      if (const auto progress = read_line(part, read)) return progress;
    }
  }
  return read_line(first, read);
}

std::optional<std::int64_t> ProgressLines::end(const Read& read) { return read_line(std::exchange(begun_, {}), read); }

}  // namespace dlaunch::launcher
