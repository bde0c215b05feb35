// The rules of versions 1.0 and 1.2, each by itself; rules.h lists them. Of this room. Pure.
#pragma once

#include <vector>

#include "ranktable/rules.h"

namespace dlaunch::ranktable {

void check_server_counts(const Table& table, Product product, std::vector<Finding>& findings);
void check_device_ids(const Table& table, Product product, std::vector<Finding>& findings);
void check_server_order(const Table& table, std::vector<Finding>& findings);
/// What may be missing, loopback addresses, and mixed families.
void check_addresses(const Table& table, std::vector<Finding>& findings);
void check_super_pods(const Table& table, std::vector<Finding>& findings);

}  // namespace dlaunch::ranktable
