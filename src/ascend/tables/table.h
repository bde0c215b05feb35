// A rank table: the server and the device of each rank. The values point into the parsed JSON, which must outlive the
// table. Pure.
//
// Version 1.0 (Ascend 910, A2) and 1.2 (A3, with super pods) list servers with their devices, every scalar a string.
// Version 2.0 (950) lists ranks, numbers as numbers; its servers are the ranks that share a net_instance_id on layer 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ascend/tables/address.h"
#include "base/json.h"
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

}  // namespace dlaunch::ranktable
