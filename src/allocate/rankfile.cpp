#include "allocate/rankfile.h"

#include "allocate/host_entry.h"
#include "allocate/host_name.h"
#include "allocate/scanner.h"
#include "base/text.h"
#include "plan/slot_list.h"

namespace dlaunch::allocate {
namespace {

tl::unexpected<Error> wrong(const Scanner& scanner, std::string what, std::string hint) {
  return fail({.where = scanner.word_place(), .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// `word` then '=': false when something else stands there.
Result<bool> take_key(Scanner& scanner, std::string_view word) {
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  if (scanner.take_word() != word) return false;
  return scanner.take_equals();
}

/// `*` is as if nothing was said.
Result<std::string> read_slot(const Scanner& scanner, std::string_view text) {
  if (text == "*") return std::string();
  if (const auto ranges = plan::parse_slot_list(text); !ranges) {
    const Error& error = ranges.error();
    return wrong(scanner, error.what + (error.why.empty() ? "" : ": " + error.why), error.hint);
  }
  return std::string(text);
}

/// The scanner stands at the line's first word.
Result<plan::RankPlace> parse_line(Scanner& scanner) {
  plan::RankPlace place;
  place.from = scanner.line();
  const auto malformed = [&] { return wrong(scanner, "not a line of a rankfile", "write: rank 0=node1 slot=0-3"); };
  if (scanner.take_word() != "rank") return malformed();
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  const auto rank = parse_int(scanner.take_word(), 0, kMostSlots - 1);
  if (!rank) return malformed();
  place.rank = static_cast<int>(*rank);
  const auto equals = scanner.take_equals();
  if (!equals) return fail(equals.error());
  if (!*equals) return malformed();
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  place.host = scanner.take_word();
  if (!place.host.starts_with("+n")) {
    const auto word = parse_host_word(place.host);
    if (!word) return wrong(scanner, word.error().what, word.error().hint);
    if (word->names.size() != 1 || word->has_count) return wrong(scanner, "a rank goes to one host", "name one host");
    place.host = word->names.front();
  }
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  if (scanner.at_line_end()) return place;
  const auto slot = take_key(scanner, "slot");
  if (!slot) return fail(slot.error());
  if (!*slot) return malformed();
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  auto slots = read_slot(scanner, scanner.take_word());
  if (!slots) return fail(slots.error());
  place.slots = *std::move(slots);
  if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
  if (!scanner.at_line_end()) {
    scanner.take_word();
    return malformed();
  }
  return place;
}

}  // namespace

Result<std::vector<plan::RankPlace>> parse_rankfile(std::string_view text, const std::string& name) {
  std::vector<plan::RankPlace> places;
  for (Scanner scanner(text, name); !scanner.at_end(); scanner.next_line()) {
    if (auto ok = scanner.skip_blanks(); !ok) return fail(ok.error());
    if (scanner.at_line_end()) continue;
    auto place = parse_line(scanner);
    if (!place) return fail(place.error());
    places.push_back(*std::move(place));
  }
  if (!places.empty()) return places;
  return fail({.where = name, .what = "places no rank", .why = "", .hint = "write a line a rank: rank 0=node1 slot=*"});
}

}  // namespace dlaunch::allocate
