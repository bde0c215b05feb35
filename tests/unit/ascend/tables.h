// Small rank tables for the tests of this module: made from a few numbers, and broken by replacing text.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "ascend/tables/rules.h"

namespace dlaunch::ranktable {

struct ServerText {
  std::string id;
  int first_device = 0;
  int devices = 8;
};

/// A table of version 1.0 with one device on each line; device_ip is 10.<server>.<device>.1.
inline std::string table_text(const std::vector<ServerText>& servers) {
  std::string text = "{\"version\": \"1.0\", \"server_count\": \"" + std::to_string(servers.size()) +
                     "\", \"status\": \"completed\", \"server_list\": [\n";
  int rank = 0;
  for (size_t s = 0; s < servers.size(); ++s) {
    text += "{\"server_id\": \"" + servers[s].id + "\", \"device\": [\n";
    for (int d = 0; d < servers[s].devices; ++d) {
      const std::string id = std::to_string(servers[s].first_device + d);
      text += std::string(d == 0 ? "" : ",\n") + R"({"device_id": ")" + id + R"(", "device_ip": "10.)" +
              std::to_string(s) + "." + id + R"(.1", "rank_id": ")" + std::to_string(rank++) + "\"}";
    }
    text += s + 1 < servers.size() ? "]},\n" : "]}";
  }
  return text + "]}\n";
}

/// Replaces the first `what` in `text`. Fails the test if `what` is missing.
inline std::string with(std::string text, const std::string& what, const std::string& instead) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " is not in " << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), instead);
}

inline json::Json json_of(const std::string& text) {
  auto json = json::parse_json(text, "t.json");
  EXPECT_TRUE(json) << to_text(json.error());
  return json.value_or(json::Json{});
}

/// Returns "path: what" for each finding, with "note: " before a note.
inline std::vector<std::string> findings_of(const std::string& text, std::optional<Product> product = {}) {
  const json::Json json = json_of(text);
  Reading reading = read_table(json);
  if (reading.table) {
    const auto rules = check_rules(*reading.table, product.value_or(usual_product(reading.table->version)));
    reading.findings.insert(reading.findings.end(), rules.begin(), rules.end());
  }
  std::vector<std::string> texts;
  for (const TableFinding& finding : reading.findings)
    texts.push_back((finding.note ? "note: " : "") + finding.path + ": " + finding.what);
  return texts;
}

}  // namespace dlaunch::ranktable
