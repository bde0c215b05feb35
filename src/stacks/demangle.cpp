#include "stacks/demangle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace dlaunch::stacks {
namespace {

using std::string_view;

constexpr std::size_t kLongestMangled = 1024;
constexpr std::size_t kLongestPlain = 512;
constexpr string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";  // of a substitution
constexpr int kDeepest = 64;                                             // limit of nested types and scopes

constexpr auto kOperators = std::to_array<std::pair<string_view, string_view>>({
    {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"},
    {"ng", "-"},    {"ad", "&"},      {"de", "*"},       {"co", "~"},         {"pl", "+"},         {"mi", "-"},
    {"ml", "*"},    {"dv", "/"},      {"rm", "%"},       {"an", "&"},         {"or", "|"},         {"eo", "^"},
    {"aS", "="},    {"pL", "+="},     {"mI", "-="},      {"mL", "*="},        {"dV", "/="},        {"rM", "%="},
    {"aN", "&="},   {"oR", "|="},     {"eO", "^="},      {"ls", "<<"},        {"rs", ">>"},        {"lS", "<<="},
    {"rS", ">>="},  {"eq", "=="},     {"ne", "!="},      {"lt", "<"},         {"gt", ">"},         {"le", "<="},
    {"ge", ">="},   {"ss", "<=>"},    {"nt", "!"},       {"aa", "&&"},        {"oo", "||"},        {"pp", "++"},
    {"mm", "--"},   {"cm", ","},      {"pm", "->*"},     {"pt", "->"},        {"cl", "()"},        {"ix", "[]"},
});

constexpr auto kStandard = std::to_array<std::pair<string_view, string_view>>({{"St", "std"},
                                                                               {"Sa", "std::allocator"},
                                                                               {"Sb", "std::basic_string"},
                                                                               {"Ss", "std::string"},
                                                                               {"Si", "std::istream"},
                                                                               {"So", "std::ostream"},
                                                                               {"Sd", "std::iostream"}});

/// Reads each character once. nullopt and false: malformed, or not among the known forms.
class Parser {
 public:
  explicit Parser(string_view text) : text_(text) {}

  /// The name of an encoding; its parameters are left in the text.
  std::optional<std::string> function() {
    const Nesting nesting(*this);
    if (!nesting) return std::nullopt;
    const int offsets = eat("Th") ? 1 : eat("Tv") ? 2 : 0;
    if (offsets == 0) return name();
    if (!skip_offset() || (offsets == 2 && !skip_offset())) return std::nullopt;
    auto target = function();
    if (target) *target = "thunk to " + *target;
    return target;
  }

 private:
  /// One level of recursion.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : depth_(parser.depth_) { ++depth_; }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    explicit operator bool() const { return depth_ <= kDeepest; }

   private:
    int& depth_;
  };

  bool eat(string_view wanted) {
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }

  char next() const { return text_.empty() ? '\0' : text_.front(); }

  template <class Table>
  std::optional<string_view> eat_one_of(const Table& table) {
    const auto found = std::ranges::find_if(table, [&](const auto& one) { return text_.starts_with(one.first); });
    if (found == table.end()) return std::nullopt;
    text_.remove_prefix(found->first.size());
    return found->second;
  }

  string_view eat_all_of(string_view wanted) {
    const string_view taken = text_.substr(0, std::min(text_.find_first_not_of(wanted), text_.size()));
    text_.remove_prefix(taken.size());
    return taken;
  }
  string_view eat_number() { return eat_all_of("0123456789"); }

  bool skip_offset() {
    eat("n");
    return !eat_number().empty() && eat("_");
  }

  std::optional<std::string> name() {
    if (eat("N")) return nested();
    if (eat("Z")) return local();
    std::string text;
    const auto standard = eat_one_of(kStandard);
    if (standard) text = std::string(*standard);
    if (!standard || *standard == "std") {
      if (!add(text, unqualified(text))) return std::nullopt;
    }
    return template_arguments(text) ? std::optional(text) : std::nullopt;
  }

  /// After N.
  std::optional<std::string> nested() {
    eat_all_of("rVK");
    if (next() == 'R' || next() == 'O') text_.remove_prefix(1);
    std::string text;
    if (const auto standard = eat_one_of(kStandard)) text = std::string(*standard);
    if (text.empty() && is_substitution()) {  // only in arguments
      if (!eat_substitution()) return std::nullopt;
      text = "…";
    } else if (text.empty() && eat("Z")) {
      auto scope = local();
      if (!scope) return std::nullopt;
      text = *std::move(scope);
    }
    while (!eat("E")) {
      if (next() != 'I' && !add(text, unqualified(text))) return std::nullopt;
      if (next() == 'I' && (text.empty() || !template_arguments(text))) return std::nullopt;
      eat("M");  // a variable, as the scope of its initialiser's lambda
    }
    return text.empty() ? std::nullopt : std::optional(text);
  }

  /// After Z: a function, and the name of an entity in the function.
  std::optional<std::string> local() {
    const Nesting nesting(*this);
    auto text = nesting ? function() : std::nullopt;
    if (!text || !skip_types_to_end() || eat("s")) return std::nullopt;
    if (eat("d")) {  // in a default argument
      eat_number();
      if (!eat("_")) return std::nullopt;
    }
    const auto entity = name();
    if (!add(*text, entity)) return std::nullopt;
    // Several entities may have this name: _0 to _9, then __10_.
    if (eat("__")) return !eat_number().empty() && eat("_") ? text : std::nullopt;
    return !eat("_") || eat_letter_of("0123456789") ? text : std::nullopt;
  }

  static bool add(std::string& scope, const std::optional<std::string>& part) {
    if (!part || scope.size() + part->size() > kLongestPlain) return false;
    scope += (scope.empty() ? "" : "::") + *part;
    return true;
  }

  /// `scope`: the names before, as a constructor repeats the last one.
  std::optional<std::string> unqualified(string_view scope) {
    eat("L");  // internal linkage
    std::optional<std::string> text;
    if (next() >= '0' && next() <= '9') {
      text = source_name();
    } else if (eat("cv")) {
      if (!skip_type()) return std::nullopt;
      text = "operator …";
    } else if (next() == 'C' || next() == 'D') {
      text = structor(scope);
    } else if (eat("Ul")) {
      if (skip_types_to_end()) text = numbered("{lambda#");
    } else if (eat("Ut")) {
      text = numbered("{unnamed#");
    } else if (const auto symbol = eat_one_of(kOperators)) {
      text = "operator" + std::string(*symbol);
    }
    while (text && eat("B")) {
      const auto tag = source_name();
      if (!tag) return std::nullopt;
      *text += "[abi:" + *tag + ']';
    }
    return text;
  }

  std::optional<std::string> source_name() {
    const string_view digits = eat_number();
    if (digits.empty() || digits.size() > 4) return std::nullopt;
    std::size_t size = 0;
    for (const char digit : digits) size = size * 10 + static_cast<std::size_t>(digit - '0');
    if (size == 0 || size > text_.size()) return std::nullopt;
    const string_view name = text_.substr(0, size);
    text_.remove_prefix(size);
    return name.starts_with("_GLOBAL__N") ? "(anonymous namespace)" : std::string(name);
  }

  std::optional<std::string> structor(string_view scope) {
    const bool destroys = next() == 'D';
    text_.remove_prefix(1);
    const bool inherited = !destroys && eat("I");
    if (next() < '0' || next() > '5') return std::nullopt;
    text_.remove_prefix(1);
    if (inherited && !skip_type()) return std::nullopt;
    if (scope.ends_with("<…>")) scope.remove_suffix(string_view("<…>").size());
    const std::size_t colon = scope.rfind("::");
    const string_view last = colon == string_view::npos ? scope : scope.substr(colon + 2);
    if (last.empty()) return std::nullopt;
    return (destroys ? "~" : "") + std::string(last);
  }

  /// "_" is the first one, "0_" the second one.
  std::optional<std::string> numbered(const char* beginning) {
    const string_view digits = eat_number();
    if (!eat("_") || digits.size() > 4) return std::nullopt;
    const int number = digits.empty() ? 1 : 2 + std::stoi(std::string(digits));
    return beginning + std::to_string(number) + '}';
  }

  bool template_arguments(std::string& text) {
    if (next() != 'I') return true;
    text += "<…>";
    return text.size() <= kLongestPlain && skip_arguments();
  }

  /// From I or J to its E.
  bool skip_arguments() {
    const Nesting nesting(*this);
    text_.remove_prefix(1);
    while (nesting && !eat("E")) {
      if (next() == 'J' ? !skip_arguments() : next() == 'L' ? !skip_literal() : !skip_type()) return false;
    }
    return static_cast<bool>(nesting);
  }

  bool skip_literal() {
    eat("L");
    if (eat("_Z")) return function() && skip_types_to_end();
    if (!skip_type()) return false;
    eat_all_of("n_0123456789abcdef");
    return eat("E");
  }

  bool skip_types_to_end() {
    while (!eat("E")) {
      if (!skip_type()) return false;
    }
    return true;
  }

  bool skip_type() {
    const Nesting nesting(*this);
    if (!nesting || text_.empty()) return false;
    eat_all_of("rVKPROCG");
    if (eat("U")) return source_name() && skip_optional_arguments() && skip_type();
    if (eat("u")) return source_name() && skip_optional_arguments();
    if (eat("F")) {
      eat("Y");
      while (!eat("E") && !eat("RE") && !eat("OE")) {
        if (!skip_type()) return false;
      }
      return true;
    }
    if (eat("A")) {
      eat_number();
      return eat("_") && skip_type();
    }
    if (eat("M")) return skip_type() && skip_type();
    if (eat("Dp") || eat("Do")) return skip_type();
    if (next() == 'T' || is_substitution()) return eat_substitution() && skip_optional_arguments();
    if (eat("D")) return eat_letter_of("defhisuacn");
    return eat_letter_of("vwbcahstijlmxynofdegz") || name().has_value();
  }

  bool eat_letter_of(string_view letters) {
    if (text_.empty() || letters.find(next()) == string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool is_substitution() const {
    return text_.size() >= 2 && text_[0] == 'S' && (text_[1] == '_' || kDigits.find(text_[1]) != string_view::npos);
  }

  /// S_, S0_, SZ_, …, or a parameter of a template: T_, T0_, …
  bool eat_substitution() {
    text_.remove_prefix(1);
    eat_all_of(kDigits);
    return eat("_");
  }

  bool skip_optional_arguments() { return next() != 'I' || skip_arguments(); }

  string_view text_;
  int depth_ = 0;
};

}  // namespace

std::string demangled(string_view name) {
  if (name.starts_with("_Z") && name.size() <= kLongestMangled) {
    const auto plain = Parser(name.substr(2)).function();
    if (plain && plain->size() <= kLongestPlain) return *plain;
  }
  return std::string(name);
}

}  // namespace dlaunch::stacks
