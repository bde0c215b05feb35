// A rank table: which rank runs on which device of which server. Values that view the JSON they were read from, which
// must outlive them. Pure.
//
// Version 1.0 (Ascend 910, A2) and 1.2 (A3, with super pods) list servers with their devices, every scalar a string.
// Version 2.0 (950) lists ranks, numbers as numbers; its servers are the ranks that share a net_instance_id on layer 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/rank_table.h"
#include "ranktable/address.h"
#include "ranktable/json.h"

namespace dlaunch::ranktable {

/// Of version 2.0: an address on one layer.
struct DeviceLink {
  const Json* json = nullptr;
  std::string path = {};
  long layer = 0;
  std::string address = {};  ///< as one would compare it
  bool of_host = false;      ///< a network card of the host, which devices may share
};

/// A field that is missing or malformed is empty here; a finding says so.
struct Device {
  const Json* json = nullptr;
  std::string path = {};  ///< "$.server_list[1].device[3]"
  std::optional<long> device_id = {};
  std::optional<long> rank_id = {};
  std::optional<Address> device_ip = {};
  std::optional<long> host_port = {};
  std::optional<long> super_device_id = {};
  std::optional<long> local_id = {};   ///< of version 2.0
  std::vector<DeviceLink> links = {};  ///< of version 2.0
};

struct TableServer {
  const Json* json = nullptr;  ///< null in version 2.0
  std::string path = {};       ///< of version 2.0: its first rank's
  std::string id = {};         ///< server_id, or net_instance_id on layer 0; empty: missing
  std::string host_ip = {};    ///< as it stands; empty: not said
  std::vector<Device> devices = {};
};

struct SuperPod {
  const Json* json = nullptr;
  std::string path = {};
  std::string id = {};
  std::vector<std::string> servers = {};
};

struct Table {
  Version version = Version::v1_0;
  const Json* json = nullptr;
  std::vector<TableServer> servers = {};
  std::optional<std::vector<SuperPod>> super_pods = {};  ///< of version 1.2

  size_t rank_count() const;
};

struct Reading {
  std::optional<Table> table = {};  ///< none when not even the version is known
  std::vector<TableFinding> findings = {};
};

/// What the text says, and every value of a wrong type, form or range. Linear. What is valid only together is in
/// rules.h.
Reading read_table(const Json& json);

}  // namespace dlaunch::ranktable
