// The files that a command line may name, and the one way they are read. Everything else in this room is pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"

namespace dlaunch::cli {

struct Unreadable {
  Error error;           ///< `where` is the path and `why` the system's reason
  bool missing = false;  ///< there is no such file
};

/// The file's bytes.
using ReadFile = std::function<tl::expected<std::string, Unreadable>(const std::string& path)>;

/// Reads a file of at most 16 MiB.
tl::expected<std::string, Unreadable> read_whole_file(const std::string& path);
/// The same for callers to whom it is one whether the file is missing.
Result<std::string> read_text(const std::string& path);

struct TextLine {
  std::string_view text;  ///< without its end, CRLF or LF
  std::string where;      ///< "path:3"
};

/// The lines of `text`, which must outlive them.
std::vector<TextLine> lines_of(std::string_view text, const std::string& path);

/// An Error when the text contains a NUL byte, which no argument or variable can hold.
Result<void> check_text(std::string_view text, const std::string& path);

/// Parses NAME=VALUE lines, without blank ones and those that begin with '#'. The value is everything after '='.
Result<std::vector<plan::EnvSetting>> parse_env_file(std::string_view text, const std::string& path);

/// Splits a line into words as a POSIX shell does, with '…', "…", \ and # comments; nothing is expanded.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace dlaunch::cli
