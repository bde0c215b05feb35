// Reads values from a table's JSON, and adds a finding for each that is missing, of a wrong type or out of range.
// Private to this room. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ranktable/table.h"

namespace dlaunch::ranktable {

/// An object of the table and its path.
struct JsonLocation {
  const Json* json = nullptr;
  std::string path = {};
};

/// A finding about the member `key` of an object, placed at the member, or at the object where it is missing.
TableFinding finding_at(const Json& object, const std::string& path, std::string_view key, std::string what);

class Fields {
 public:
  enum class Need { optional, required };

  Fields(Version version, std::vector<TableFinding>& findings) : version_(version), findings_(findings) {}

  std::optional<std::string> text(const JsonLocation& spot, std::string_view key, Need need);
  /// A number in [min, max], which is a string in 1.x.
  std::optional<long> number(const JsonLocation& spot, std::string_view key, Need need, long min, long max);
  std::optional<Address> address(const JsonLocation& spot, std::string_view key, Need need);
  /// The objects in the list `key`. Items that are no objects, and an empty list, give findings.
  std::vector<JsonLocation> objects(const JsonLocation& spot, std::string_view key);
  /// Adds a finding unless the status is "completed".
  void status(const JsonLocation& spot, Need need);

  void complain(const JsonLocation& spot, std::string_view key, std::string what);
  Version version() const { return version_; }

 private:
  const Json* member(const JsonLocation& spot, std::string_view key, Need need);

  Version version_;
  std::vector<TableFinding>& findings_;
};

/// The servers of a table of version 2.0.
std::vector<TableServer> read_rank_list(Fields& fields, const JsonLocation& root);

}  // namespace dlaunch::ranktable
