// The rules of versions 1.0 and 1.2, each by itself; rules.h lists them. Private to this room. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ranktable/rules.h"

namespace dlaunch::ranktable {

// Each text names the rule that is broken, for people; empty: none is.
/// For the number of devices on a server; `alone`: it is the only server.
std::string wrong_count(size_t count, bool alone, Product product);
/// For `count` devices with these ids on a server.
std::string crossing(const std::set<int>& ids, size_t count, Product product);
std::string too_high(long device, Product product);

void check_server_counts(const Table& table, Product product, std::vector<TableFinding>& findings);
void check_device_ids(const Table& table, Product product, std::vector<TableFinding>& findings);
void check_server_order(const Table& table, std::vector<TableFinding>& findings);
/// Missing and loopback addresses, and mixed families.
void check_addresses(const Table& table, std::vector<TableFinding>& findings);
void check_super_pods(const Table& table, std::vector<TableFinding>& findings);

}  // namespace dlaunch::ranktable
