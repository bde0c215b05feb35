#include "dlaunch/rank_table.h"

#include <algorithm>
#include <tuple>

#include "ascend/tables/make.h"
#include "ascend/tables/merge.h"
#include "ascend/tables/rules.h"
#include "base/try.h"

namespace dlaunch::ranktable {

CheckedTable check_rank_table(std::string_view text, const std::string& path, std::optional<Product> product) {
  CheckedTable checked;
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto json = json::parse_json(text, path);
  if (!json) {
    checked.no_json = json.error();
    checked.findings = check_file_name(name, nullptr);
    return checked;
  }
  Reading reading = read_table(*json);
  checked.findings = std::move(reading.findings);
  const auto add = [&](std::vector<TableFinding> more) {
    std::ranges::move(more, std::back_inserter(checked.findings));
  };
  if (reading.table) {
    checked.version = reading.table->version;
    checked.servers = reading.table->servers.size();
    checked.ranks = reading.table->rank_count();
    add(check_rules(*reading.table, product.value_or(usual_product(*checked.version))));
  }
  add(check_file_name(name, reading.table ? &*reading.table : nullptr));
  std::ranges::stable_sort(checked.findings, {}, [](const TableFinding& f) { return std::tuple(f.line, f.column); });
  return checked;
}

Result<std::string> make_rank_table(Version version, Product product, std::vector<HostFacts> hosts) {
  const auto made = TRY(make_table(version, product, std::move(hosts)));
  return json::to_text(made);
}

Result<MergedTable> merge_rank_tables(const std::vector<NamedText>& tables, std::optional<Product> product) {
  std::vector<NamedJson> parsed;
  for (const auto& [name, text] : tables) {
    auto json = TRY(json::parse_json(text, name));
    parsed.push_back({name, std::move(json)});
  }
  const auto merged = TRY(merge_tables(std::move(parsed), product));
  return MergedTable{json::to_text(merged.json), merged.servers, merged.ranks};
}

}  // namespace dlaunch::ranktable
