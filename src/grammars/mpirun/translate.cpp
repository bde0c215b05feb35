#include "grammars/mpirun/translate.h"

#include <algorithm>

#include "grammars/mpirun/hydra.h"

namespace dlaunch::cli {
namespace {

Result<void> translate(const ParsedOption& given, const ProcessContext& context, Translated& made) {
  const OptionSpec& spec = *given.spec;
  const bool off = spec.takes == Arity::nothing && given.value == "false";
  if (off) return {};
  if (spec.translate) return spec.translate(given, context, made);
  if (!spec.stands_for.empty()) made.here.push_back(what_it_stands_for(given));
  return {};
}

/// The path in Open MPI 5's --map-by rankfile:FILE=PATH; empty for another value or option.
std::string rankfile_of(const ParsedOption& given) {
  constexpr std::string_view kWords = "rankfile:file=";
  if (given.spec != find_option("map-by").spec || given.value.size() <= kWords.size()) return {};
  const bool same =
      std::ranges::equal(std::string_view(given.value).substr(0, kWords.size()), kWords,
                         [](char c, char word) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == word; });
  return same ? given.value.substr(kWords.size()) : "";
}

/// Open MPI accepts policies in upper and lower case: --map-by NUMA:PE=2.
void lower_policy(ParsedOption& given) {
  for (const std::string_view name : {"map-by", "rank-by", "bind-to"}) {
    if (given.spec != find_option(name).spec) continue;
    for (char& c : given.value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

bool is_foreign(const ParsedOption& given) { return given.spec->translate || !given.spec->stands_for.empty(); }

}  // namespace

ParsedOption own_option(const ParsedOption& given, std::string_view name, std::string value) {
  ParsedOption own = given;
  own.spec = find_option(name).spec;
  own.value = std::move(value);
  return own;
}

ParsedOption what_it_stands_for(const ParsedOption& given) {
  const std::string_view text = given.spec->stands_for;
  const size_t equals = text.find('=');
  std::string value(text.substr(equals + 1));
  if (const size_t braces = value.find("{}"); braces != std::string::npos) value.replace(braces, 2, given.value);
  return own_option(given, text.substr(0, equals), std::move(value));
}

Result<void> translate_options(std::vector<Group>& groups, const ProcessContext& context,
                               std::vector<std::string>& notes) {
  Translated made;
  for (Group& group : groups) {
    made.here.clear();
    for (ParsedOption& given : group.options) {
      if (std::string path = rankfile_of(given); !path.empty()) {
        made.here.push_back(own_option(given, "rankfile", std::move(path)));
        continue;
      }
      const bool bound_as_hydra = is_hydra_bind_to(given);
      if (!bound_as_hydra) lower_policy(given);
      if (!is_foreign(given) && !bound_as_hydra) {
        made.here.push_back(std::move(given));
        continue;
      }
      if (auto done = bound_as_hydra ? hydra_binding(given, context, made) : translate(given, context, made); !done) {
        Error error = done.error();
        if (error.where.empty()) error.where = given.spelled;
        if (!group.where.empty()) error.where = group.where + ": " + error.where;
        return fail(std::move(error));
      }
    }
    group.options = made.here;
  }
  for (Group& group : groups) {
    group.options.insert(group.options.begin(), made.everywhere.begin(), made.everywhere.end());
  }
  for (std::string& note : made.notes) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
  return {};
}

}  // namespace dlaunch::cli
