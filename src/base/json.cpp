#include "base/json.h"

#include <algorithm>
#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dlaunch::json {
namespace {

constexpr size_t kShown = 60;  // bytes of a string in a message

void append_escaped(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    default:
      break;
  }
  if (byte >= 0x20 && byte != 0x7f) {
    out += c;
  } else {
    out += std::string("\\u00") + hex[byte >> 4U] + hex[byte & 15U];
  }
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) append_escaped(out, c);
  return out + '"';
}

/// The text, shortened to kShown bytes without splitting a character.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return text.substr(0, end);
}

void write(const Json& json, size_t depth, std::string& out);

template <class Each, class Write>
void write_list(const Each& list, std::array<char, 2> brackets, size_t depth, std::string& out, const Write& one) {
  out += brackets[0];
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    out += '\n' + std::string(4 * (depth + 1), ' ');
    one(item);
  }
  if (!first) out += '\n' + std::string(4 * depth, ' ');
  out += brackets[1];
}

void write(const Json& json, size_t depth, std::string& out) {
  switch (json.kind) {
    case Json::Kind::null:
      out += "null";
      return;
    case Json::Kind::boolean:
    case Json::Kind::number:
      out += json.text;
      return;
    case Json::Kind::string:
      out += in_quotes(json.text);
      return;
    case Json::Kind::array:
      write_list(json.items, {'[', ']'}, depth, out, [&](const Json& item) { write(item, depth + 1, out); });
      return;
    case Json::Kind::object:
      write_list(json.members, {'{', '}'}, depth, out, [&](const Json::Member& member) {
        out += in_quotes(member.key) + ": ";
        write(member.value, depth + 1, out);
      });
  }
}

}  // namespace

Json Json::string(std::string_view text) {
  Json json;
  json.kind = Kind::string;
  json.text = text;
  return json;
}

Json Json::number(long value) {
  Json json;
  json.kind = Kind::number;
  json.text = std::to_string(value);
  return json;
}

Json Json::array() {
  Json json;
  json.kind = Kind::array;
  return json;
}

Json Json::object() {
  Json json;
  json.kind = Kind::object;
  return json;
}

const Json* Json::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Json& Json::set(std::string_view key, Json value) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  if (found != members.end()) {
    found->value = std::move(value);
    return found->value;
  }
  return members.emplace_back(Member{std::string(key), std::move(value)}).value;
}

std::optional<long> whole_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  constexpr long most = 1'000'000'000'000;
  return parse_int(text, -most, most);
}

std::string described(const Json& json) {
  switch (json.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
    case Json::Kind::number:
      return json.text;
    case Json::Kind::string: {
      const std::string_view shown = shortened(json.text);
      return in_quotes(shown) + (shown.size() < json.text.size() ? "…" : "");
    }
    case Json::Kind::array:
      return "[…]";
    case Json::Kind::object:
      break;
  }
  return "{…}";
}

std::string to_text(const Json& json) {
  std::string out;
  write(json, 0, out);
  return out + '\n';
}

namespace {

using std::string_view;

constexpr string_view kBlanks = " \t\r\n";
constexpr string_view kBetweenTokens = " \t\r\n,:";

/// Counts the bytes that the parser reads: the parser reports positions of errors, not of values.
struct CountingIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  size_t* read;

  reference operator*() const { return *at; }
  CountingIterator& operator++() { return ++at, ++*read, *this; }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
  bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

/// The position of an error: its token, or a place within the token.
enum class Mark { token, last_byte, character, escape };

struct Complaint {
  string_view message;  ///< the parser's message, or a part of it
  string_view at;       ///< possible first characters of the token; empty: any token
  string_view why;
  string_view hint;
  Mark mark = Mark::token;
};

/// The first matching entry applies.
constexpr Complaint kComplaints[] = {
    {"closing quote", "", "missing closing \" of a string", ""},
    {"control character", "", "invalid control character in a string", "write the character as \\n or \\u00XX",
     Mark::last_byte},
    {"after backslash", "", "unknown escape in a string", "write \\\\ for a backslash", Mark::escape},
    {"4 hex digits", "", "invalid \\u escape in a string", "", Mark::escape},
    {"surrogate", "", "invalid \\u escape in a string", "", Mark::escape},
    {"UTF-8", "", "invalid UTF-8", "write the file in UTF-8", Mark::character},
    {"number overflow", "", "number too long", ""},
    {"invalid number", "", "invalid number", "write numbers as 0, 12 or -3"},
    {"; expected end of input", "", "unexpected text after the JSON value", "write one JSON value only"},
    {"object key", "}", "unexpected comma before ] or }", "remove the comma"},
    {"object key", "", "missing key", "write keys in \"…\""},
    {"object separator", "", "missing colon after the key", ""},
    {"value - unexpected end", "", "missing value: the text ends too early", ""},
    {"unexpected end", "", "missing ] or }: the text ends too early", ""},
    {"parsing array", "", "missing comma", ""},
    {"parsing object", "", "missing comma", ""},
    {"", "/#", "unexpected comment", "remove the comment"},
    {"", "'", "invalid string in '…'", "write strings in \"…\""},
    {"in a list", "]", "unexpected comma before ] or }", "remove the comma"},
    {"", "", "invalid value", "write a string in \"…\", a number, a list or an object"},
};

/// Builds the tree. Each handler returns false after recording an error and its position.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Json> build() {
    const char* const begin = text_.data();
    bool ok = nlohmann::json::sax_parse(CountingIterator{begin, &read_}, CountingIterator{begin + text_.size(), &read_},
                                        this);
    if (ok && text_.find_first_not_of(kBlanks, end_) != string_view::npos) {  // a zero byte ends the parser's input
      ok = complain(token(), "unexpected text after the JSON value", "write one JSON value only");
    }
    if (ok) return std::move(root_);
    return fail(std::move(error_));
  }

  bool null() override { return value(Json::Kind::null, "null"); }
  bool boolean(bool is_true) override { return value(Json::Kind::boolean, is_true ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return number(value == 0 ? "-0" : std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return number(text); }
  bool string(std::string& text) override { return value(Json::Kind::string, std::move(text)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // only in other formats
  bool start_array(size_t) override { return value(Json::Kind::array, ""); }
  bool start_object(size_t) override { return value(Json::Kind::object, ""); }
  bool end_array() override { return close(); }
  bool end_object() override { return close(); }

  bool key(std::string& name) override {
    if (!open_.back().keys.insert(name).second) {
      return complain(token(), "duplicate key " + described(Json::string(name)), "write each key once");
    }
    open_.back().json->members.push_back({name, {}});
    end_ = read_;
    return true;
  }

  bool parse_error(size_t read, const std::string& token_text, const nlohmann::json::exception& error) override {
    const size_t last = std::min(read - 1, text_.size());
    const size_t first = std::min(token(), last);
    const char begins = first < text_.size() ? text_[first] : '\0';
    std::string message = error.what() + std::string(in_list() ? " in a list" : "");
    const std::string quoted = "last read: '" + token_text;  // the token may contain anything
    if (const size_t from = message.find(quoted); from != std::string::npos) message.erase(from, quoted.size());
    const auto* fits = std::ranges::find_if(kComplaints, [&](const Complaint& entry) {
      return message.find(entry.message) != std::string::npos &&
             (entry.at.empty() || entry.at.find(begins) != string_view::npos);
    });
    size_t at = fits->mark == Mark::token ? first : last;
    if (fits->mark == Mark::character) at = character_at(last);
    if (fits->mark == Mark::escape) {
      at = text_.rfind('\\', last - 1);
      const bool second = message.find("followed by U+") != std::string::npos && last - at < kEscape;
      if (second) at -= kEscape;
    }
    return complain(at, std::string(fits->why), std::string(fits->hint));
  }

 private:
  struct Open {
    Json* json;
    std::set<std::string> keys = {};
  };
  static constexpr size_t kEscape = 6;  // \uXXXX

  bool complain(size_t at, std::string why, std::string hint = "") {
    const string_view before = text_.substr(0, at);
    const size_t column = at - (before.rfind('\n') + 1) + 1;
    error_ = {
        .where = name_ + ":" + std::to_string(1 + std::ranges::count(before, '\n')) + ":" + std::to_string(column),
        .what = "invalid JSON",
        .why = std::move(why),
        .hint = std::move(hint)};
    return false;
  }

  bool in_list() const { return !open_.empty() && open_.back().json->is(Json::Kind::array); }

  /// The start of the current token.
  size_t token() const { return std::min(text_.find_first_not_of(kBetweenTokens, end_), text_.size()); }

  /// The start of the character that contains this invalid byte, or ends before the byte.
  size_t character_at(size_t byte) const {
    for (size_t back = 1; back < 4 && back <= byte; ++back) {
      const auto lead = static_cast<unsigned char>(text_[byte - back]);
      const size_t length = lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      if (length > back) return byte - back;
    }
    return byte;
  }

  bool value(Json::Kind kind, std::string text) {
    const size_t start = token();
    if (open_.size() > kDeepest) return complain(start, "more than " + std::to_string(kDeepest) + " nested levels");
    if (++values_ > kMostValues) return complain(start, "more than " + std::to_string(kMostValues) + " values");
    Json& made = open_.empty() ? root_
                 : in_list()   ? open_.back().json->items.emplace_back()
                               : open_.back().json->members.back().value;
    made.kind = kind;
    made.text = std::move(text);
    for (; counted_ < start; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    made.line = line_;
    made.column = static_cast<int>(start - line_start_ + 1);
    if (kind == Json::Kind::array || kind == Json::Kind::object) open_.push_back({&made});
    end_ = read_;
    return true;
  }

  /// The parser has read one more byte after a number, unless the text ends there.
  bool number(const std::string& text) {
    const size_t start = token();
    const size_t end = start + text.size();
    if ((text == "0" || text == "-0") && text_.find_first_of("0123456789", end) == end) {
      return complain(start, "invalid number", "write numbers as 0, 12 or -3");
    }
    if (text.size() > kLongestNumber) return complain(start, "number too long");
    const bool ok = value(Json::Kind::number, text);
    end_ = end;
    return ok;
  }

  bool close() {
    open_.pop_back();
    end_ = read_;
    return true;
  }

  const string_view text_;
  const std::string& name_;
  size_t read_ = 0;  // bytes read by the parser
  size_t end_ = 0;   // end of the last token that it reported
  Json root_;
  std::vector<Open> open_;
  size_t values_ = 0;
  size_t counted_ = 0;     // line_ counts the newlines before this offset
  size_t line_start_ = 0;  // start of line_
  int line_ = 1;
  Error error_;
};

}  // namespace

Result<Json> parse_json(string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return fail({.where = name + ":1:1",
                 .what = "invalid JSON",
                 .why = "unexpected byte order mark",
                 .hint = "write the file as UTF-8 without a byte order mark"});
  }
  return TreeBuilder(text, name).build();
}

}  // namespace dlaunch::json
