#include "base/field_template.h"

#include <algorithm>

#include "base/text.h"

namespace dlaunch {
namespace {

std::string known_fields(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += " {" + field + "}";
  return text;
}

Error unknown_field(const std::string& name, const std::vector<std::string>& fields, std::string_view where) {
  const auto close = nearest(name, fields);
  return {.where = std::string(where),
          .what = "unknown field {" + name + "}",
          .why = "",
          .hint = (close ? "use {" + *close + "}, or another field of:" : "use a field of:") + known_fields(fields) +
                  "; {{ is a literal brace"};
}

void add_text(std::vector<Piece>& pieces, std::string_view text) {
  if (text.empty()) return;
  if (pieces.empty() || !pieces.back().field.empty()) pieces.emplace_back();
  pieces.back().text += text;
}

}  // namespace

Result<std::vector<Piece>> parse_template(std::string_view text, const std::vector<std::string>& fields,
                                          std::string_view where) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t brace = text.find_first_of("{}");
    add_text(pieces, text.substr(0, brace));
    if (brace == std::string_view::npos) break;
    text.remove_prefix(brace);
    if (text[0] == '}' || text.substr(0, 2) == "{{") {
      add_text(pieces, text.substr(0, 1));
      text.remove_prefix(text.size() > 1 && text[1] == text[0] ? 2 : 1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fail({.where = std::string(where),
                   .what = "'" + std::string(text) + "' has no closing brace",
                   .why = "",
                   .hint = "write {{ for a literal brace"});
    }
    const std::string name(text.substr(1, close - 1));
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) return fail(unknown_field(name, fields, where));
    pieces.push_back({"", name});
    text.remove_prefix(close + 1);
  }
  return pieces;
}

bool has_field(const std::vector<Piece>& pieces, std::string_view field) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.field == field; });
}

}  // namespace dlaunch
