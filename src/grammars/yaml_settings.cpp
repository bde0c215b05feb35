#include "grammars/yaml_settings.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

tl::unexpected<Error> other_yaml(const std::string& where, std::string what) {
  return fail({.where = where,
               .what = std::move(what),
               .why = "dlaunch reads KEY: VALUE lines in sections one level deep",
               .hint = "write KEY: VALUE lines, with the same indent below SECTION:"});
}

/// Removes a comment. A comment begins with '#' after a blank.
string_view without_comment(string_view text) {
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if ((c == '\'' || c == '"') && (i == 0 || text[i - 1] == ' ')) {
      quote = c;
    } else if (c == '#' && (i == 0 || text[i - 1] == ' ')) {
      return text.substr(0, i);
    }
  }
  return text;
}

/// Returns the text between quotes, or nullopt if the text needs unsupported escapes.
std::optional<std::string> unquoted(string_view text) {
  const char quote = text.front();
  if (text.size() < 2 || text.back() != quote) return std::nullopt;
  const string_view inner = text.substr(1, text.size() - 2);
  if (quote == '"') {
    return inner.find_first_of("\"\\") == inner.npos ? std::optional(std::string(inner)) : std::nullopt;
  }
  std::string value;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\'' && (++i == inner.size() || inner[i] != '\'')) return std::nullopt;
    value += inner[i];
  }
  return value;
}

bool is_one_of(string_view text, std::initializer_list<string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// YAML 1.1, as PyYAML reads it.
std::optional<std::string> plain_scalar(string_view text) {
  constexpr string_view kBegins = "[]{}&*!|>@%`,?\"'";
  const bool listed = text == "-" || text.starts_with("- ");
  if (kBegins.find(text.front()) != kBegins.npos || listed || text.find(": ") != text.npos || text.ends_with(':')) {
    return std::nullopt;
  }
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return "True";
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return "False";
  return std::string(text);
}

bool is_nothing(string_view text) { return is_one_of(text, {"", "null", "Null", "NULL", "~", "{}", "[]"}); }

bool is_key(string_view text) {
  constexpr string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_not_of(kLetters) == text.npos;
}

class YamlReader {
 public:
  Result<void> take(const TextLine& line) {
    const string_view text = without_comment(line.text);
    if (trim(text).empty() || text == "---") return {};
    const size_t indent = text.find_first_not_of(' ');
    const size_t colon = text.find(':');
    const string_view key = text.substr(indent, colon == text.npos ? 0 : colon - indent);
    const bool ended = colon + 1 == text.size() || (colon < text.size() && text[colon + 1] == ' ');
    if (key.empty() || !ended) return other_yaml(line.where, "invalid line");
    if (!is_key(key)) return other_yaml(line.where, "invalid key \"" + std::string(key) + '"');
    TRY(find_section(indent, line.where));
    const string_view value = trim(text.substr(colon + 1));
    if (indent == 0 && value.empty()) {
      section_ = key;
      indent_ = 0;
    }
    if (is_nothing(value)) return {};
    const bool quoted = value.front() == '\'' || value.front() == '"';
    const auto scalar = quoted ? unquoted(value) : plain_scalar(value);
    if (!scalar) return other_yaml(line.where, "not supported: the value of " + std::string(key));
    found.push_back({indent > 0 ? section_ : "", std::string(key), *scalar, line.where});
    return {};
  }

  std::vector<YamlSetting> found;

 private:
  Result<void> find_section(size_t indent, const std::string& where) {
    if (indent == 0) {
      section_.clear();
      return {};
    }
    if (indent_ == 0) indent_ = indent;
    if (section_.empty() || indent != indent_) return other_yaml(where, "invalid indent");
    return {};
  }

  std::string section_;
  size_t indent_ = 0;  // 0: before the first line of the section
};

}  // namespace

Result<std::vector<YamlSetting>> parse_yaml_settings(string_view text, const std::string& path) {
  TRY(check_text(text, path));
  YamlReader reader;
  for (const TextLine& line : lines_of(text, path)) {
    TRY(reader.take(line));
  }
  return std::move(reader.found);
}

}  // namespace dlaunch::cli
