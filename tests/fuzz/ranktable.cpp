// Reads any text as a rank table. JSON, written and read again, must be the same value; findings and Errors must name
// the place; a table must never merge with itself, and a valid table must merge alone.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ascend/tables/make.h"
#include "ascend/tables/rules.h"
#include "ascend/tables/table.h"

namespace {

using namespace dlaunch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_error(const Error& error) { require(!error.what.empty() && !error.where.empty()); }

/// The text must be the same value after it is written and read again.
void check_round_trip(const json::Json& json) {
  const std::string text = to_text(json);
  const auto again = json::parse_json(text, "f");
  require(again.has_value() && to_text(*again) == text);
}

void check_assignment(const ranktable::Table& table) {
  const auto assignment = assignment_of(table);
  require(assignment.has_value() && assignment->ranks.size() == table.rank_count());
  for (const ranktable::TableRank& rank : assignment->ranks)
    require(rank.host >= 0 && static_cast<size_t>(rank.host) < assignment->hosts.size());
}

void check_merge(const json::Json& json, bool good) {
  const auto merged = ranktable::merge_tables({{"f", json}}, {});
  if (merged) {
    const auto reading = ranktable::read_table(merged->json);
    require(reading.table && !any_broken(reading.findings) && reading.table->rank_count() == merged->ranks);
    require(!any_broken(check_rules(*reading.table, usual_product(reading.table->version))));
  } else {
    check_error(merged.error());
    require(!good);
  }
  require(!ranktable::merge_tables({{"f", json}, {"g", json}}, {}).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = json::parse_json(text, "f");
  if (!json) {
    check_error(json.error());
    require(json.error().where.starts_with("f:"));
    return 0;
  }
  check_round_trip(*json);
  auto reading = ranktable::read_table(*json);
  require(reading.table || any_broken(reading.findings));
  if (reading.table) {
    const auto rules = check_rules(*reading.table, usual_product(reading.table->version));
    reading.findings.insert(reading.findings.end(), rules.begin(), rules.end());
    (void)check_file_name("hccl_8p_01234567_10.0.0.1.json", &*reading.table);
    (void)assignment_of(*reading.table);
  }
  for (const ranktable::TableFinding& finding : reading.findings)
    require(finding.path.starts_with("$") && finding.line > 0 && finding.column > 0 && !finding.what.empty());
  const bool good = !any_broken(reading.findings);
  if (good) check_assignment(*reading.table);
  check_merge(*json, good);
  return 0;
}
