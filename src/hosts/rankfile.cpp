#include "hosts/rankfile.h"

#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/hostfile.h"
#include "hosts/host_name.h"
#include "hosts/scanner.h"
#include "plan/slot_list.h"

namespace dlaunch::hosts {
namespace {

tl::unexpected<Error> wrong(const Scanner& scanner, std::string what, std::string hint) {
  return fail({.where = scanner.word_place(), .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// Reads `word` and then '='; false if the text differs.
Result<bool> take_key(Scanner& scanner, std::string_view word) {
  TRY(scanner.skip_blanks());
  if (scanner.take_word() != word) return false;
  return scanner.take_equals();
}

/// Reads the slots. `*` means no restriction: an empty text.
Result<std::string> read_slot(const Scanner& scanner, std::string_view text) {
  if (text == "*") return std::string();
  if (const auto ranges = plan::parse_slot_list(text); !ranges) {
    return wrong(scanner, what_and_why(ranges.error()), ranges.error().hint);
  }
  return std::string(text);
}

/// Parses one line. The scanner is at the first word.
Result<plan::RankPlace> parse_line(Scanner& scanner) {
  plan::RankPlace place;
  place.from = scanner.line();
  const auto malformed = [&] { return wrong(scanner, "invalid line: expected rank 0=node1 slot=0-3", ""); };
  if (scanner.take_word() != "rank") return malformed();
  TRY(scanner.skip_blanks());
  const auto rank = parse_int(scanner.take_word(), 0, kMostSlots - 1);
  if (!rank) return malformed();
  place.rank = static_cast<int>(*rank);
  const auto equals = TRY(scanner.take_equals());
  if (!equals) return malformed();
  TRY(scanner.skip_blanks());
  place.host = scanner.take_word();
  if (!place.host.starts_with("+n")) {
    const auto word = parse_host_word(place.host);
    if (!word) {
      Error error = word.error();
      error.where = scanner.word_place();
      return fail(std::move(error));
    }
    if (word->names.size() != 1 || word->has_count)
      return wrong(scanner, "invalid host \"" + place.host + "\": expected one host", "");
    place.host = word->names.front();
  }
  TRY(scanner.skip_blanks());
  if (scanner.at_line_end()) return place;
  const auto slot = TRY(take_key(scanner, "slot"));
  if (!slot) return malformed();
  TRY(scanner.skip_blanks());
  auto slots = TRY(read_slot(scanner, scanner.take_word()));
  place.slots = std::move(slots);
  TRY(scanner.skip_blanks());
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
    TRY(scanner.skip_blanks());
    if (scanner.at_line_end()) continue;
    auto place = TRY(parse_line(scanner));
    places.push_back(std::move(place));
  }
  if (!places.empty()) return places;
  return fail({.where = name,
               .what = "missing rank",
               .why = "the file has no rank",
               .hint = "write one line per rank: rank 0=node1 slot=*"});
}

}  // namespace dlaunch::hosts
