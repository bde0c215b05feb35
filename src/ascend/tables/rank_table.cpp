#include <algorithm>
#include <tuple>

#include "ascend/tables/make.h"
#include "ascend/tables/rules.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/rank_table.h"

namespace dlaunch::ranktable {
namespace {

TableFinding about_name(std::string what, bool note) { return {.path = "", .what = std::move(what), .note = note}; }

std::string sorted(std::string text) {
  std::sort(text.begin(), text.end());
  return text;
}

std::string device_digits(const Table& table) {
  std::string digits;
  for (const Device& device : table.servers.front().devices) {
    if (device.device_id) digits += std::to_string(*device.device_id);
  }
  return digits;
}

/// The number in a word such as "8p".
std::optional<long> counted(std::string_view word, char unit) {
  if (word.empty() || word.back() != unit) return std::nullopt;
  return parse_int(word.substr(0, word.size() - 1), 0, 1'000'000);
}

void compare(const char* what, std::optional<long> given, size_t actual, std::vector<TableFinding>& findings) {
  if (!given || static_cast<size_t>(*given) == actual) return;
  findings.push_back(about_name(std::string("the number of ") + what + " is " + std::to_string(*given) +
                                    " in the file name, but " + std::to_string(actual) + " in the table",
                                true));
}

}  // namespace

std::vector<TableFinding> check_file_name(std::string_view name, const Table* table) {
  std::vector<TableFinding> findings;
  if (!name.ends_with(".json")) findings.push_back(about_name("invalid file name: expected the ending .json", false));
  if (!table || !name.starts_with("hccl_") || !name.ends_with(".json")) return findings;
  const auto words = split(name.substr(5, name.size() - 10), '_');
  if (words.size() < 2) return findings;
  if (const auto servers = counted(words[0], 's')) {
    compare("servers", servers, table->servers.size(), findings);
    compare("devices", counted(words[1], 'p'), table->rank_count(), findings);
    return findings;
  }
  const auto count = counted(words[0], 'p');
  if (!count) return findings;
  compare("devices", count, table->rank_count(), findings);
  if (table->servers.size() != 1) return findings;
  const std::string digits = device_digits(*table);
  if (digits != words[1] && sorted(digits) == sorted(words[1])) {
    findings.push_back(about_name("the devices are " + words[1] + " in the file name, but " + digits +
                                      " in the table: scripts may not find the file",
                                  true));
  }
  return findings;
}

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
