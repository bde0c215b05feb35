#include "cli/config_file.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

constexpr std::string_view kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.";

tl::unexpected<Error> malformed(std::string what) {
  return fail({.where = "",
               .what = std::move(what),
               .why = "",
               .hint = "write name = value, as grace = 10 or label = \"[{rank}] \""});
}

bool ends(std::string_view rest) {
  rest = trim(rest);
  return rest.empty() || rest.front() == '#';
}

/// What stands for "\c"; nullopt when nothing does.
std::optional<char> unescape(char c) {
  constexpr std::string_view kLetters = "\"\\ntr";
  constexpr std::string_view kMeanings = "\"\\\n\t\r";
  const size_t at = kLetters.find(c);
  return at == std::string_view::npos ? std::nullopt : std::optional(kMeanings[at]);
}

/// `text` begins with a quote.
Result<std::string> quoted(std::string_view text) {
  const char quote = text.front();
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      if (!ends(text.substr(i + 1))) return malformed("something stands after the value");
      return value;
    }
    if (quote == '"' && text[i] == '\\') {
      const auto c = ++i < text.size() ? unescape(text[i]) : std::nullopt;
      if (!c) return malformed("unknown escape in a string; '…' takes a backslash as it stands");
      value += *c;
    } else {
      value += text[i];
    }
  }
  return malformed("a quote is not closed on its line");
}

Result<std::string> scalar(std::string_view text) {
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) return quoted(text);
  const size_t end = std::min(text.find_first_not_of(kBare), text.size());
  if (end == 0 || !ends(text.substr(end)))
    return malformed("the value must be a number, true, false or a string in quotes");
  return std::string(text.substr(0, end));
}

Result<const OptionSpec*> preference(std::string_view name) {
  const FoundOption found = find_option(name);
  const bool canonical = found.spec && found.spec->name() == name;
  if (canonical && found.spec->preference) return found.spec;
  if (canonical) {
    return fail({.where = "",
                 .what = std::string(name) + " cannot have a default",
                 .why = "it belongs to one command line",
                 .hint = ""});
  }
  std::string hint;
  if (found.spec) {
    hint = "its name here is " + std::string(found.spec->name());
  } else if (const auto near = nearest_preference(name)) {
    hint = "did you mean " + *near + "?";
  }
  return fail({.where = "", .what = "unknown name " + std::string(name), .why = "", .hint = hint});
}

/// nullopt for a line without content.
Result<std::optional<Given>> parse_line(std::string_view text) {
  if (ends(text)) return std::nullopt;
  text = trim(text);
  if (text.front() == '[') return malformed("tables are not used here");
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return malformed("not a name = value line");
  const auto spec = preference(trim(text.substr(0, equals)));
  if (!spec) return fail(spec.error());
  const auto value =
      scalar(trim(text.substr(equals + 1))).and_then([&](const std::string& v) { return preference_value(**spec, v); });
  if (!value) return fail(value.error());
  return Given{.spec = *spec,
               .value = *value,
               .spelled = std::string((*spec)->name()),
               .origin = "",
               .source = Source::config_file};
}

}  // namespace

Result<std::vector<Given>> parse_config(std::string_view text, const std::string& path) {
  if (auto ok = check_text(text, path); !ok) return fail(ok.error());
  std::vector<Given> settings;
  for (const Line& line : lines_of(text, path)) {
    auto given = parse_line(line.text);
    const bool twice = given && *given && std::any_of(settings.begin(), settings.end(), [&](const Given& other) {
                         return other.spec == (*given)->spec;
                       });
    if (twice)
      given =
          fail({.where = "", .what = (*given)->spelled + " is set twice", .why = "", .hint = "keep one of the lines"});
    if (!given) {
      Error error = given.error();
      error.where = line.where;
      return fail(std::move(error));
    }
    if (!*given) continue;
    (*given)->origin = line.where;
    (*given)->spelled = line.where + ": " + (*given)->spelled;
    settings.push_back(**std::move(given));
  }
  return settings;
}

Result<std::string> preference_value(const OptionSpec& spec, std::string_view text) {
  const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
  const bool no = text == "false" || text == "0" || text == "no" || text == "off";
  switch (spec.takes) {
    case Takes::nothing:
      if (yes || no) return std::string(yes ? "true" : "false");
      return bad_value(text, "is neither true nor false", "write true or false");
    case Takes::maybe_value:
      if (yes) return std::string();
      return std::string(no ? "false" : text);
    case Takes::count:
    case Takes::value:
    case Takes::pair:
    case Takes::show:
      break;
  }
  return std::string(text);
}

}  // namespace dlaunch::cli
