// The rules for the values of a rank table in relation to each other. Pure, and linear but for sorting.
//
// Every table:    rank ids 0, 1, 2, … with none missing or repeated; a server's ranks are consecutive;
//                 servers, devices of a server, and addresses differ
// 1.0 and 1.2:    each server has as many devices as the others; servers in the lexicographic order of server_id;
//                 no server_id 127.* among several; one IP family; each device of several servers has a device_ip
// Ascend 910:     1, 2, 4 or 8 devices on one server, 8 on each of several; device ids 0 to 7;
//                 2 or 4 devices lie within 0-3 or within 4-7
// 1.2:            with super pods, each server is in one of them and each device has a super_device_id
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "ranktable/table.h"

namespace dlaunch::ranktable {

std::vector<TableFinding> check_rules(const Table& table, Product product);

/// HCCL requires `.json`, and a name of hccl_tools.py's form should agree with the table. `name` has no directory.
std::vector<TableFinding> check_file_name(std::string_view name, const Table* table);

/// An Error about the first rule that `table`, which was just made, breaks.
std::optional<Error> first_broken(const Json& table, Product product);

}  // namespace dlaunch::ranktable
