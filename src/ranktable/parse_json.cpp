#include <set>
#include <string>

#include "ranktable/json.h"

namespace dlaunch::ranktable {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | ((code >> shift) & 0x3fU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// The length of the valid UTF-8 character that `text` begins with; 0 when it begins with none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (length == 0 || length > text.size() || byte(0) > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool outside = (byte(0) == 0xed && byte(1) >= 0xa0) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

/// Goes over the text once. Each member returns false when it has noted what is wrong and where.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Json> parse() {
    Json root;
    skip_blanks();
    bool ok = value(root, 0);
    skip_blanks();
    if (ok && at_ < text_.size()) ok = complain("something stands behind the value", "one JSON value and no more");
    if (ok) return root;
    return fail({.where = name_ + ":" + std::to_string(line_at(wrong_)) + ":" + std::to_string(column_at(wrong_)),
                 .what = "is not JSON that HCCL can read",
                 .why = why_,
                 .hint = hint_.empty() ? "" : "write " + hint_});
  }

 private:
  bool complain_at(size_t at, std::string why, std::string hint) {
    wrong_ = at;
    why_ = std::move(why);
    hint_ = std::move(hint);
    return false;
  }
  bool complain(std::string why, std::string hint = "") { return complain_at(at_, std::move(why), std::move(hint)); }

  int line_at(size_t at) {
    for (; counted_ < at; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    if (at >= line_start_) return line_;
    int line = 1;  // an error may point behind what was counted
    for (size_t i = 0; i < at; ++i) line += text_[i] == '\n' ? 1 : 0;
    return line;
  }
  int column_at(size_t at) const {
    const size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    return static_cast<int>(newline == std::string_view::npos ? at + 1 : at - newline);
  }

  char look() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool value(Json& into, int depth) {
    if (depth > kDeepest) return complain("nested deeper than " + std::to_string(kDeepest) + " levels");
    if (++values_ > kMostValues) return complain("more than " + std::to_string(kMostValues) + " values");
    into.line = line_at(at_);
    into.column = static_cast<int>(at_ - line_start_ + 1);
    if (at_ == text_.size()) return complain("it ends where a value should stand");
    switch (look()) {
      case '{':
        return object(into, depth);
      case '[':
        return array(into, depth);
      case '"':
        into.kind = Json::Kind::string;
        return string(into.text);
      case '/':
      case '#':
        return complain("a comment", "the file without comments");
      default:
        return look() == '-' || is_digit(look()) ? number(into) : word(into);
    }
  }

  bool word(Json& into) {
    for (const std::string_view known : {"null", "true", "false"}) {
      if (!text_.substr(at_).starts_with(known)) continue;
      at_ += known.size();
      into.kind = known == "null" ? Json::Kind::null : Json::Kind::boolean;
      into.text = known;
      return true;
    }
    if (look() == '\'') return complain("a string in '…'", "strings in \"…\"");
    return complain("no value begins so", "a string in \"…\", a number, a list or an object");
  }

  bool number(Json& into) {
    const size_t start = at_;
    const auto digits = [&] {
      const size_t first = at_;
      while (is_digit(look())) ++at_;
      return at_ - first;
    };
    if (look() == '-') ++at_;
    const size_t whole = at_;
    bool good = digits() > 0 && (at_ - whole == 1 || text_[whole] != '0');
    if (good && look() == '.') good = (++at_, digits() > 0);
    if (good && (look() == 'e' || look() == 'E')) {
      ++at_;
      if (look() == '+' || look() == '-') ++at_;
      good = digits() > 0;
    }
    if (!good) return complain_at(start, "a malformed number", "numbers as 0, 12 or -3");
    if (at_ - start > kLongestNumber) return complain_at(start, "a number too long to be one", "");
    into.kind = Json::Kind::number;
    into.text = text_.substr(start, at_ - start);
    return true;
  }

  bool string(std::string& into) {
    const size_t start = at_++;
    for (;;) {
      if (at_ == text_.size()) return complain_at(start, "a string without its closing \"", "");
      const char c = look();
      if (c == '"') return ++at_, true;
      if (c == '\\') {
        if (!escape(into)) return false;
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20)
        return complain("a control character in a string", "it as \\n or \\u00XX");
      const size_t length = utf8_length(text_.substr(at_));
      if (length == 0) return complain("bytes that are not UTF-8", "the file in UTF-8");
      into += text_.substr(at_, length);
      at_ += length;
    }
  }

  bool escape(std::string& into) {
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const size_t start = at_++;
    if (look() == 'u') return unicode(into, start);
    const size_t known = at_ < text_.size() ? names.find(look()) : std::string_view::npos;
    if (known == std::string_view::npos)
      return complain_at(start, "an unknown escape in a string", "\\\\ for a backslash");
    into += meanings[known];
    ++at_;
    return true;
  }

  std::optional<unsigned> four_hex_digits() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_digit(look());
      if (digit < 0) return std::nullopt;
      code = code * 16 + static_cast<unsigned>(digit);
      ++at_;
    }
    return code;
  }

  bool unicode(std::string& into, size_t start) {
    ++at_;
    auto code = four_hex_digits();
    if (code && *code >= 0xd800 && *code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const auto low = four_hex_digits();
      code = low && *low >= 0xdc00 && *low < 0xe000
                 ? std::optional(0x10000 + ((*code - 0xd800) << 10U) + (*low - 0xdc00))
                 : std::nullopt;
    } else if (code && *code >= 0xd800 && *code < 0xe000) {
      code.reset();
    }
    if (!code) return complain_at(start, "a malformed \\u escape in a string", "");
    append_utf8(into, *code);
    return true;
  }

  /// Behind an element: whether another follows. nullopt after a complaint.
  std::optional<bool> more(char close) {
    skip_blanks();
    if (look() == close) return ++at_, false;
    if (look() != ',') {
      complain(at_ == text_.size() ? "it ends inside a list or an object" : "a comma is missing here");
      return std::nullopt;
    }
    ++at_;
    skip_blanks();
    if (look() != close) return true;
    complain("a comma with nothing behind it", "no comma before ] or }");
    return std::nullopt;
  }

  bool array(Json& into, int depth) {
    into.kind = Json::Kind::array;
    ++at_;
    skip_blanks();
    if (look() == ']') return ++at_, true;
    for (;;) {
      if (!value(into.items.emplace_back(), depth + 1)) return false;
      const auto another = more(']');
      if (!another || !*another) return another.has_value();
    }
  }

  bool object(Json& into, int depth) {
    into.kind = Json::Kind::object;
    std::set<std::string> keys;
    ++at_;
    skip_blanks();
    if (look() == '}') return ++at_, true;
    for (;;) {
      const size_t start = at_;
      if (look() != '"') return complain("a key should stand here", "keys in \"…\"");
      Json::Member& member = into.members.emplace_back();
      if (!string(member.key)) return false;
      if (!keys.insert(member.key).second) {
        return complain_at(start, "the key " + described(Json::string(member.key)) + " stands twice in one object",
                           "each key once");
      }
      skip_blanks();
      if (look() != ':') return complain("a colon is missing here");
      ++at_;
      skip_blanks();
      if (!value(member.value, depth + 1)) return false;
      const auto another = more('}');
      if (!another || !*another) return another.has_value();
    }
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  size_t values_ = 0;
  size_t counted_ = 0;     // newlines before here are in line_
  size_t line_start_ = 0;  // of line_
  int line_ = 1;
  size_t wrong_ = 0;
  std::string why_;
  std::string hint_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return fail({.where = name + ":1:1",
                 .what = "is not JSON that HCCL can read",
                 .why = "a byte order mark",
                 .hint = "save the file as UTF-8 without one"});
  }
  return Parser(text, name).parse();
}

}  // namespace dlaunch::ranktable
