// Checks the rules that relate several values of a rank table. Pure, and linear except for sorting.
//
// Every table:    rank ids 0, 1, 2, … without gaps or duplicates; the ranks of a server are consecutive;
//                 servers, devices of a server, and addresses differ
// 1.0 and 1.2:    all servers have the same number of devices; servers in the lexicographic order of server_id;
//                 no server_id 127.* if there are several; one IP version; with several servers, each device has a
//                 device_ip
// Ascend 910:     1, 2, 4 or 8 devices on a single server, 8 on each of several; device ids 0 to 7;
//                 2 or 4 devices are all in 0-3 or all in 4-7
// 1.2:            with super pods, each server is in one super pod and each device has a super_device_id
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ascend/tables/table.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::ranktable {

std::vector<TableFinding> check_rules(const Table& table, Product product);

/// HCCL requires `.json`. A name in the form of hccl_tools.py must agree with the table. Otherwise the finding is a
/// note. `name` has no directory.
std::vector<TableFinding> check_file_name(std::string_view name, const Table* table);

/// An Error about the first broken rule of a new table.
std::optional<Error> first_broken(const json::Json& table, Product product);

// Checks if the devices of a plan's ranks can be in one rank table. Without the check, HCCL would fail after the ranks
// have started. Pure.

struct BrokenRule {
  std::string host = {};
  std::string what = {};  ///< "has 3 devices"
  std::string rule = {};  ///< "expected 1, 2, 4 or 8 on a server of Ascend 910"
};

/// Checks hosts with Ascend devices. With `stand_ins`, fake and named devices count as Ascend devices.
std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins);

}  // namespace dlaunch::ranktable
