#include "transport/ssh/config_file.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"

namespace dlaunch::transport::ssh {

bool matches_pattern(std::string_view text, std::string_view pattern) {
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      resume = at;
    } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool matches_patterns(std::string_view text, const std::vector<std::string>& patterns) {
  bool matched = false;
  for (const std::string_view pattern : patterns) {
    if (pattern.starts_with('!')) {
      if (matches_pattern(text, pattern.substr(1))) return false;
    } else {
      matched = matched || matches_pattern(text, pattern);
    }
  }
  return matched;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

namespace {

using std::string;
using std::string_view;

constexpr int kMostDepth = 16;
constexpr int kMostIncluded = 4096;  // the number doubles with each level of files that include the next file twice
constexpr string_view kBlank = " \t\r\f";

/// Splits a line like ssh: both kinds of quotes; a backslash escapes a quote, a blank or a backslash; # starts a
/// comment.
class Words {
 public:
  explicit Words(string_view text) : text_(text) {}

  /// Returns false if a closing quote is missing.
  bool split(std::vector<string>& words) {
    while (skip_blanks()) {
      if (text_.front() == '#') return true;
      string word;
      if (!take(word)) return false;
      words.push_back(std::move(word));
    }
    return true;
  }

 private:
  bool skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(kBlank), text_.size()));
    return !text_.empty();
  }

  bool take(string& word) {
    char quote = 0;
    for (; !text_.empty(); text_.remove_prefix(1)) {
      const char c = text_.front();
      if (c == '\\' && text_.size() > 1 && escapes(text_[1], quote)) {
        text_.remove_prefix(1);
        word += text_.front();
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == 0 && kBlank.find(c) != string_view::npos) {
        return true;
      } else {
        word += c;
      }
    }
    return quote == 0;
  }

  static bool escapes(char next, char quote) {
    return next == '\'' || next == '"' || next == '\\' || (quote == 0 && next == ' ');
  }

  string_view text_;
};

tl::unexpected<Error> wrong(const string& where, string what, string why) {
  return fail(
      {where, std::move(what), std::move(why), "check ssh_config(5): ssh also refuses this line", kExitRefused});
}

/// Parses "Keyword value", "Keyword=value" or "Keyword = value".
Result<ConfigLine> parse_line(string_view text, string where) {
  const size_t end = std::min(text.find_first_of(" \t\r="), text.size());
  ConfigLine line{.keyword = to_lower(text.substr(0, end)), .words = {}, .rest = {}, .where = std::move(where)};
  text.remove_prefix(end);
  text = trim(text);
  if (text.starts_with('=')) text = trim(text.substr(1));
  line.rest = text;
  if (!Words(text).split(line.words)) return wrong(line.where, "missing closing quote", string(text));
  if (line.words.empty()) return wrong(line.where, "missing value of " + line.keyword, "");
  return line;
}

string absolute(const string& pattern, const string& directory, const string& home) {
  if (pattern.starts_with('~')) return expand_home(pattern, home);
  return pattern.starts_with('/') ? pattern : directory + '/' + pattern;
}

constexpr unsigned kWritableByAll = 002;
constexpr unsigned kWritableByGroup = 020;

/// Parses a file and its included files.
class Parser {
 public:
  Parser(bool users, const SshContext& context, std::vector<string>& doubtful)
      : directory_(users ? context.home + "/.ssh" : "/etc/ssh"), context_(context), doubtful_(doubtful) {}

  Result<std::shared_ptr<const ConfigFile>> parse(const string& path, const File& read, bool checked, int depth) {
    const bool foreign = read.owner != 0 && read.owner != context_.user_id;
    if (checked && (foreign || (read.mode & kWritableByAll) != 0)) return fail(bad_permissions(path));
    if (checked && (read.mode & kWritableByGroup) != 0) doubtful_.push_back(path);
    auto file = std::make_shared<ConfigFile>();
    int number = 0;
    for (const string& raw : split(read.text, '\n')) {
      ++number;
      string_view content = trim(string_view(raw).substr(0, raw.find_last_not_of(" \t\r\f") + 1));
      // ssh reads the first '=' as a blank; a second '=' ends the line
      if (content.starts_with('=')) content = trim(content.substr(1));
      if (content.empty() || content.front() == '#' || content.front() == '=') continue;
      auto line = TRY(parse_line(content, path + ":" + std::to_string(number)));
      if (line.keyword == "include") {
        TRY(include(line, depth));
      }
      file->lines.push_back(std::move(line));
    }
    return file;
  }

 private:
  Result<void> include(ConfigLine& line, int depth) {
    if (depth == kMostDepth)
      return wrong(line.where, "Include", "more than " + std::to_string(kMostDepth) + " nested files");
    for (const string& word : line.words) {
      for (const string& path : context_.glob(absolute(word, directory_, context_.home))) {
        if (++included_ > kMostIncluded)
          return wrong(line.where, "Include", "more than " + std::to_string(kMostIncluded) + " files");
        const auto read = context_.read_file(path);
        if (!read) return wrong(line.where, "Include", "cannot read " + path);
        auto file = TRY(parse(path, *read, true, depth + 1));
        line.included.push_back(std::move(file));
      }
    }
    return {};
  }

  const string directory_;
  const SshContext& context_;
  std::vector<string>& doubtful_;
  int included_ = 0;
};

}  // namespace

string expand_home(string_view path, const string& home) {
  if (path == "~") return home;
  return path.starts_with("~/") ? home + string(path.substr(1)) : string(path);
}

Result<std::shared_ptr<const ConfigFile>> parse_config_file(const ConfigPath& path, const SshContext& context,
                                                            std::vector<string>& doubtful) {
  const auto read = context.read_file(path.path);
  if (!read) return std::make_shared<ConfigFile>();
  return Parser(path.users, context, doubtful).parse(path.path, *read, path.users, 0);
}

Error bad_permissions(const string& path) {
  return {path, "bad owner or permissions", "other users can write the file: ssh also refuses the file",
          "use your own file, and run chmod go-w " + shell_quote(path), kExitRefused};
}

std::shared_ptr<const ConfigFile> parse_config_answer(string_view text, bool shared) {
  auto file = std::make_shared<ConfigFile>();
  for (const string& line : split(text, '\n')) {
    const size_t blank = std::min(line.find(' '), line.size());
    const string_view rest = trim(string_view(line).substr(blank));
    string keyword = to_lower(string_view(line).substr(0, blank));
    if (rest.empty() || keyword == "host" || (shared && keyword == "hostname")) continue;
    file->lines.push_back(
        {.keyword = std::move(keyword), .words = split(rest, ' '), .rest = string(rest), .where = "ssh -G"});
  }
  return file;
}

tl::unexpected<Error> wrong_line(const ConfigLine& line, string why) {
  return wrong(line.where, line.keyword + " " + line.rest, std::move(why));
}

}  // namespace dlaunch::transport::ssh
