#include <algorithm>

#include "ascend/tables/rules.h"
#include "base/text.h"

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
  findings.push_back(about_name(std::string("the number of ") + what + " in the file name is " +
                                    std::to_string(*given) + ", in the table " + std::to_string(actual),
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
    findings.push_back(about_name(
        "the devices in the file name are " + words[1] + ", in the table " + digits + ": scripts may not find the file",
        true));
  }
  return findings;
}

}  // namespace dlaunch::ranktable
