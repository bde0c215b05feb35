#include "cli/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "base/try.h"
#include "sys/fd.h"

namespace dlaunch::cli {
namespace {

constexpr size_t kMaxFileBytes = 16u << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it in front of UTF-8

tl::unexpected<Unreadable> unreadable(const std::string& path, std::string why, std::string hint,
                                      bool missing = false) {
  Error error{.where = "", .what = "cannot read " + path, .why = std::move(why), .hint = std::move(hint)};
  return tl::unexpected<Unreadable>(Unreadable{std::move(error), missing});
}

bool blank(char c) { return c == ' ' || c == '\t'; }

/// Splits a line into words, one character at a time.
class WordSplitter {
 public:
  explicit WordSplitter(std::string_view line) : line_(line) {}

  Result<std::vector<std::string>> split() {
    while (at_ < line_.size()) {
      const char c = line_[at_];
      if (blank(c)) {
        end_word();
        ++at_;
      } else if (c == '#' && !word_) {
        break;
      } else if (auto taken = take(c); !taken) {
        return fail(taken.error());
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  Result<void> take(char c) {
    if (!word_) word_.emplace();
    ++at_;
    if (c == '\'') return take_single();
    if (c == '"') return take_double();
    if (c != '\\') {
      *word_ += c;
      return {};
    }
    if (at_ == line_.size())
      return fail({"", "unexpected backslash at the end of the line", "", "write \\\\ for a backslash"});
    *word_ += line_[at_++];
    return {};
  }

  Result<void> take_single() {
    const size_t end = line_.find('\'', at_);
    if (end == std::string_view::npos) return unclosed("'");
    word_->append(line_.substr(at_, end - at_));
    at_ = end + 1;
    return {};
  }

  Result<void> take_double() {
    while (at_ < line_.size()) {
      char c = line_[at_++];
      if (c == '"') return {};
      const bool escapes =
          c == '\\' && at_ < line_.size() && std::string_view("\\\"$`").find(line_[at_]) != std::string_view::npos;
      if (escapes) c = line_[at_++];
      *word_ += c;
    }
    return unclosed("\"");
  }

  static tl::unexpected<Error> unclosed(const std::string& quote) {
    return fail({"", "missing closing quote " + quote, "", "add the quote, or write \\" + quote + " for a quote"});
  }

  std::string_view line_;
  size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
};

}  // namespace

tl::expected<std::string, Unreadable> read_whole_file(const std::string& path, const ReadLimit& limit) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) {
    const int error = errno;
    const bool no_entry = error == EACCES && ::access(path.c_str(), F_OK) != 0;
    return unreadable(path, std::generic_category().message(error), "check the path and the permissions",
                      error == ENOENT || error == ENOTDIR || no_entry);
  }
  const bool fifo = S_ISFIFO(facts.st_mode);
  std::string text;
  char chunk[16384];
  for (;;) {
    pollfd ready{file.get(), POLLIN, 0};  // read(2) returns 0 for a FIFO without a writer, but a writer may come
    // No own limit for a terminal: a person may type.
    const Time until = fifo ? std::min(limit.until, Clock::now() + limit.fifo_wait) : limit.until;
    const int got = ::poll(&ready, 1, until == Time::max() ? -1 : milliseconds_until(until));
    if (got == 0 && until == limit.until) {
      auto late = unreadable(path, "the time limit of the job ended the wait for data", "start the writer first");
      late.value().error.exit_code = limit.exit_code;
      return late;
    }
    if (got == 0) {
      const std::string seconds = std::to_string(limit.fifo_wait.count());
      return unreadable(path, "timed out after " + seconds + " s: no program writes to the FIFO",
                        "start the writer first");
    }
    const ssize_t size = got < 0 ? -1 : ::read(file.get(), chunk, sizeof chunk);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) return unreadable(path, std::generic_category().message(errno), "use a regular file");
    if (size == 0) return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
    text.append(chunk, static_cast<size_t>(size));
    if (text.size() > kMaxFileBytes) return unreadable(path, "the file is larger than 16 MiB", "use a smaller file");
  }
}

Result<std::string> read_text(const std::string& path, const ReadLimit& limit) {
  auto text = read_whole_file(path, limit);
  if (!text) return fail(std::move(text.error().error));
  return *std::move(text);
}

std::vector<TextLine> lines_of(std::string_view text, const std::string& path) {
  std::vector<TextLine> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({line, path + ":" + std::to_string(lines.size() + 1)});
    start = end + 1;
  }
  return lines;
}

Result<void> check_text(std::string_view text, const std::string& path) {
  if (text.find('\0') == std::string_view::npos) return {};
  return fail({path, "not a text file", "the file contains a NUL byte", "check the path"});
}

Result<std::vector<plan::EnvSetting>> parse_env_file(std::string_view text, const std::string& path) {
  TRY(check_text(text, path));
  std::vector<plan::EnvSetting> settings;
  for (const TextLine& line : lines_of(text, path)) {
    const std::string_view content = trim(line.text);
    if (content.empty() || content.front() == '#') continue;
    const size_t equals = line.text.find('=');
    const std::string_view name = trim(line.text.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() || name.find_first_of(" \t*") != std::string_view::npos) {
      return fail({.where = line.where,
                   .what = "invalid line",
                   .why = "expected NAME=VALUE",
                   .hint = "write NAME=VALUE without \"export\" and without quotes; comments start with #"});
    }
    settings.push_back({std::string(name), std::string(line.text.substr(equals + 1))});
  }
  return settings;
}

Result<std::vector<std::string>> split_words(std::string_view line) { return WordSplitter(line).split(); }

}  // namespace dlaunch::cli
