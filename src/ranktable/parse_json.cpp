#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ranktable/json.h"

namespace dlaunch::ranktable {
namespace {

using std::string_view;

constexpr string_view kBlanks = " \t\r\n";
constexpr string_view kBetweenTokens = " \t\r\n,:";

/// Counts what is read of a text: the parser reports where an error was found, but not where a value stood.
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

/// Where an error is reported: at its token, or at a place within the token.
enum class Mark { token, last_byte, character, escape };

struct Complaint {
  string_view said;  ///< the parser's message, or a part of it
  string_view at;    ///< the token begins with one of these; empty: any token
  string_view why;
  string_view hint;
  Mark mark = Mark::token;
};

/// The first entry that matches applies.
constexpr Complaint kComplaints[] = {
    {"closing quote", "", "a string without its closing \"", ""},
    {"control character", "", "a control character in a string", "write it as \\n or \\u00XX", Mark::last_byte},
    {"after backslash", "", "an unknown escape in a string", "write \\\\ for a backslash", Mark::escape},
    {"4 hex digits", "", "a malformed \\u escape in a string", "", Mark::escape},
    {"surrogate", "", "a malformed \\u escape in a string", "", Mark::escape},
    {"UTF-8", "", "bytes that are not UTF-8", "write the file in UTF-8", Mark::character},
    {"number overflow", "", "a number too long to be one", ""},
    {"invalid number", "", "a malformed number", "write numbers as 0, 12 or -3"},
    {"; expected end of input", "", "something stands behind the value", "write one JSON value and no more"},
    {"object key", "}", "a comma with nothing behind it", "write no comma before ] or }"},
    {"object key", "", "a key should stand here", "write keys in \"…\""},
    {"object separator", "", "a colon is missing here", ""},
    {"value - unexpected end", "", "it ends where a value should stand", ""},
    {"unexpected end", "", "it ends inside a list or an object", ""},
    {"parsing array", "", "a comma is missing here", ""},
    {"parsing object", "", "a comma is missing here", ""},
    {"", "/#", "a comment", "write the file without comments"},
    {"", "'", "a string in '…'", "write strings in \"…\""},
    {"in a list", "]", "a comma with nothing behind it", "write no comma before ] or }"},
    {"", "", "no value begins so", "write a string in \"…\", a number, a list or an object"},
};

/// Builds the tree. Each member returns false once it has recorded an error and its place.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Json> build() {
    const char* const begin = text_.data();
    bool ok = nlohmann::json::sax_parse(CountingIterator{begin, &read_}, CountingIterator{begin + text_.size(), &read_},
                                        this);
    if (ok && text_.find_first_not_of(kBlanks, end_) != string_view::npos) {  // a zero byte ends the parser's input
      ok = complain(token(), "something stands behind the value", "write one JSON value and no more");
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
  bool binary(nlohmann::json::binary_t&) override { return false; }  // comes from other formats only
  bool start_array(size_t) override { return value(Json::Kind::array, ""); }
  bool start_object(size_t) override { return value(Json::Kind::object, ""); }
  bool end_array() override { return close(); }
  bool end_object() override { return close(); }

  bool key(std::string& name) override {
    if (!open_.back().keys.insert(name).second) {
      return complain(token(), "the key " + described(Json::string(name)) + " stands twice in one object",
                      "write each key once");
    }
    open_.back().json->members.push_back({name, {}});
    end_ = read_;
    return true;
  }

  bool parse_error(size_t read, const std::string& token_text, const nlohmann::json::exception& error) override {
    const size_t last = std::min(read - 1, text_.size());
    const size_t first = std::min(token(), last);
    const char begins = first < text_.size() ? text_[first] : '\0';
    std::string said = error.what() + std::string(in_list() ? " in a list" : "");
    const std::string quoted = "last read: '" + token_text;  // the token may contain anything
    if (const size_t from = said.find(quoted); from != std::string::npos) said.erase(from, quoted.size());
    const auto* fits = std::ranges::find_if(kComplaints, [&](const Complaint& one) {
      return said.find(one.said) != std::string::npos && (one.at.empty() || one.at.find(begins) != string_view::npos);
    });
    size_t at = fits->mark == Mark::token ? first : last;
    if (fits->mark == Mark::character) at = character_at(last);
    if (fits->mark == Mark::escape) {
      at = text_.rfind('\\', last - 1);
      const bool second = said.find("followed by U+") != std::string::npos && last - at < kEscape;
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
        .what = "is not JSON that HCCL can read",
        .why = std::move(why),
        .hint = std::move(hint)};
    return false;
  }

  bool in_list() const { return !open_.empty() && open_.back().json->is(Json::Kind::array); }

  /// Where the current token begins.
  size_t token() const { return std::min(text_.find_first_not_of(kBetweenTokens, end_), text_.size()); }

  /// Where the character begins that is invalid at that byte, or ends before it.
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
    if (open_.size() > kDeepest) return complain(start, "nested deeper than " + std::to_string(kDeepest) + " levels");
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

  /// After a number the parser has read one byte more, unless the text ends there.
  bool number(const std::string& text) {
    const size_t start = token();
    const size_t end = start + text.size();
    if ((text == "0" || text == "-0") && text_.find_first_of("0123456789", end) == end) {
      return complain(start, "a malformed number", "write numbers as 0, 12 or -3");
    }
    if (text.size() > kLongestNumber) return complain(start, "a number too long to be one");
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
  size_t line_start_ = 0;  // where line_ begins
  int line_ = 1;
  Error error_;
};

}  // namespace

Result<Json> parse_json(string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return fail({.where = name + ":1:1",
                 .what = "is not JSON that HCCL can read",
                 .why = "a byte order mark",
                 .hint = "save the file as UTF-8 without one"});
  }
  return TreeBuilder(text, name).build();
}

}  // namespace dlaunch::ranktable
