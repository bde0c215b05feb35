// The single rules of versions 1.0 and 1.2; rules.h lists them. Private to this module. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ascend/tables/rules.h"

namespace dlaunch::ranktable {

// The first three functions return the expected value for people; empty if no rule is broken. This function checks the
// number of devices on a server; `alone`: the table has no other server.
std::string wrong_count(size_t count, bool alone, Product product);
/// Checks `count` devices with these ids on a server.
std::string crossing(const std::set<int>& ids, size_t count, Product product);
std::string too_high(long device, Product product);

void check_server_counts(const Table& table, Product product, std::vector<TableFinding>& findings);
void check_device_ids(const Table& table, Product product, std::vector<TableFinding>& findings);
void check_server_order(const Table& table, std::vector<TableFinding>& findings);
/// Checks for missing addresses, loopback addresses and mixed IP versions.
void check_addresses(const Table& table, std::vector<TableFinding>& findings);
void check_super_pods(const Table& table, std::vector<TableFinding>& findings);

}  // namespace dlaunch::ranktable
