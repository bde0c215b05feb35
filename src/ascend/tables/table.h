// A rank table: the server and the device of each rank. The values point into the parsed JSON, which must outlive the
// table. Pure.
//
// Version 1.0 (Ascend 910, A2) and 1.2 (A3, with super pods) list servers with their devices, every scalar a string.
// Version 2.0 (950) lists ranks, numbers as numbers; its servers are the ranks that share a net_instance_id on layer 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ascend/tables/address.h"
#include "base/json.h"
#include "dlaunch/error.h"
#include "dlaunch/rank_table.h"

namespace dlaunch::ranktable {

/// In version 2.0: an address on one layer.
struct DeviceLink {
  const json::Json* json = nullptr;
  std::string path = {};
  long layer = 0;
  std::string address = {};  ///< in a canonical form
  bool of_host = false;      ///< a network card of the host; devices may share the card
};

/// A missing or malformed field is empty here and has a finding.
struct Device {
  const json::Json* json = nullptr;
  std::string path = {};  ///< "$.server_list[1].device[3]"
  std::optional<long> device_id = {};
  std::optional<long> rank_id = {};
  std::optional<Address> device_ip = {};
  std::optional<long> host_port = {};
  std::optional<long> super_device_id = {};
  std::optional<long> local_id = {};   ///< in version 2.0
  std::vector<DeviceLink> links = {};  ///< in version 2.0
};

struct TableServer {
  const json::Json* json = nullptr;  ///< null in version 2.0
  std::string path = {};             ///< in version 2.0: the path of its first rank
  std::string id = {};               ///< server_id, or net_instance_id on layer 0; empty: missing
  std::string host_ip = {};          ///< as written; empty: not given
  std::vector<Device> devices = {};
};

struct SuperPod {
  const json::Json* json = nullptr;
  std::string path = {};
  std::string id = {};
  std::vector<std::string> servers = {};
};

struct Table {
  Version version = Version::v1_0;
  const json::Json* json = nullptr;
  std::vector<TableServer> servers = {};
  std::optional<std::vector<SuperPod>> super_pods = {};  ///< in version 1.2

  size_t rank_count() const;
};

struct Reading {
  std::optional<Table> table = {};  ///< nullopt if the version cannot be read
  std::vector<TableFinding> findings = {};
};

/// Reads the table. Adds a finding for every value of a wrong type, form or range. Linear. rules.h lists the rules for
/// several values.
Reading read_table(const json::Json& json);

// Reads values from the JSON of a table. Adds a finding for each value that is missing, of a wrong type or out of
// range. Private to this module. Pure.

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

// The assignment of a rank table: its hosts, and the host and device of each rank. Pure.

struct TableHost {
  std::string name = {};  ///< the name to connect to: host_ip, else server_id; empty without these keys (version 2.0)
  std::string server_id = {};     ///< as written in the table
  std::vector<int> ranks = {};    ///< ascending
  std::vector<int> devices = {};  ///< physical ids, by index of `ranks`
};

struct TableRank {
  int host = 0;  ///< index into Assignment::hosts
  int device = 0;
};

struct TableAssignment {
  std::vector<TableHost> hosts = {};  ///< in the order of their first ranks
  std::vector<TableRank> ranks = {};  ///< by rank
};

/// Requires a table without findings of read_table and check_rules. An Error has an empty `where`.
Result<TableAssignment> assignment_of(const Table& table);

}  // namespace dlaunch::ranktable
