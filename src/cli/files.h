// Reads the files that a command line names. All other code of this module is pure.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/request.h"

namespace dlaunch::cli {

struct Unreadable {
  Error error;           ///< `what` has the path, `why` is the system's reason
  bool missing = false;  ///< the file does not exist, or the user may not enter its directory
};

struct ReadLimit {
  /// The limit of a job whose time begins now.
  static ReadLimit of(std::optional<std::chrono::milliseconds> timeout, int exit_code) {
    return {timeout ? Clock::now() + *timeout : Time::max(), exit_code};
  }

  Time until = Time::max();            ///< the end of the job's time limit
  int exit_code = kExitTimeout;        ///< after `until`
  std::chrono::seconds fifo_wait{30};  ///< for new data of a FIFO
};

/// Returns the bytes of a file.
using ReadFile = std::function<tl::expected<std::string, Unreadable>(const std::string& path, const ReadLimit& limit)>;

/// Reads a file of at most 16 MiB, without the byte order mark of UTF-8. Waits for new data of a FIFO or terminal.
tl::expected<std::string, Unreadable> read_whole_file(const std::string& path, const ReadLimit& limit = {});
/// As read_whole_file(), for callers without a special case for missing files.
Result<std::string> read_text(const std::string& path, const ReadLimit& limit = {});

struct TextLine {
  std::string_view text;  ///< without its end, CRLF or LF
  std::string where;      ///< "path:3"
};

/// The lines of `text`. `text` must outlive the lines.
std::vector<TextLine> lines_of(std::string_view text, const std::string& path);

/// Returns an Error if the text contains a NUL byte: arguments and variables cannot contain NUL bytes.
Result<void> check_text(std::string_view text, const std::string& path);

/// Parses NAME=VALUE lines. Skips blank lines and lines that begin with '#'. The value is all text after '='.
Result<std::vector<plan::EnvSetting>> parse_env_file(std::string_view text, const std::string& path);

/// Splits a line into words as a POSIX shell does, with '…', "…", \ and # comments, but without expansions.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace dlaunch::cli
