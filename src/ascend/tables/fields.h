// Reads values from the JSON of a table. Adds a finding for each value that is missing, of a wrong type or out of
// range. Private to this module. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ascend/tables/table.h"

namespace dlaunch::ranktable {

/// An object of the table and its path.
struct JsonLocation {
  const json::Json* json = nullptr;
  std::string path = {};
};

/// A finding about the member `key` of an object. Its position is the member, or the object if the member is missing.
TableFinding finding_at(const json::Json& object, const std::string& path, std::string_view key, std::string what);

/// "invalid value 3: expected a string".
std::string invalid_value(const json::Json& value, const std::string& expected);

class Fields {
 public:
  enum class Need { optional, required };

  Fields(Version version, std::vector<TableFinding>& findings) : version_(version), findings_(findings) {}

  std::optional<std::string> text(const JsonLocation& spot, std::string_view key, Need need);
  /// A number in [min, max]; a JSON string in 1.x.
  std::optional<long> number(const JsonLocation& spot, std::string_view key, Need need, long min, long max);
  std::optional<Address> address(const JsonLocation& spot, std::string_view key, Need need);
  /// The objects in the list `key`. Other items, and an empty list, add findings.
  std::vector<JsonLocation> objects(const JsonLocation& spot, std::string_view key);
  /// Adds a finding unless the status is "completed".
  void status(const JsonLocation& spot, Need need);

  void complain(const JsonLocation& spot, std::string_view key, std::string what);
  Version version() const { return version_; }

 private:
  const json::Json* member(const JsonLocation& spot, std::string_view key, Need need);

  Version version_;
  std::vector<TableFinding>& findings_;
};

/// The servers of a table of version 2.0.
std::vector<TableServer> read_rank_list(Fields& fields, const JsonLocation& root);

}  // namespace dlaunch::ranktable
