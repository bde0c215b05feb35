#include "ascend/tables/assignment.h"
#include "base/try.h"

#include <algorithm>

namespace dlaunch::ranktable {
namespace {

struct Seat {
  long rank = 0;
  long device = 0;
};

Error incomplete() {
  return {.where = "",
          .what = "missing device of a rank in the rank table",
          .why = "",
          .hint = "check the table: dlaunch ranktable check"};
}

Result<std::vector<Seat>> seats_of(const TableServer& server) {
  std::vector<Seat> seats;
  for (const Device& device : server.devices) {
    if (!device.rank_id || !device.device_id) return fail(incomplete());
    seats.push_back({*device.rank_id, *device.device_id});
  }
  if (seats.empty()) return fail(incomplete());
  std::sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) { return a.rank < b.rank; });
  return seats;
}

}  // namespace

Result<TableAssignment> assignment_of(const Table& table) {
  TableAssignment assignment;
  for (const TableServer& server : table.servers) {
    const auto seats = TRY(seats_of(server));
    TableHost host{.name = server.host_ip.empty() && server.json ? server.id : server.host_ip, .server_id = server.id};
    for (const Seat seat : seats) {
      host.ranks.push_back(static_cast<int>(seat.rank));
      host.devices.push_back(static_cast<int>(seat.device));
    }
    assignment.hosts.push_back(std::move(host));
  }
  std::sort(assignment.hosts.begin(), assignment.hosts.end(),
            [](const TableHost& a, const TableHost& b) { return a.ranks.front() < b.ranks.front(); });
  assignment.ranks.resize(table.rank_count(), {-1, 0});
  for (size_t i = 0; i < assignment.hosts.size(); ++i) {
    const TableHost& host = assignment.hosts[i];
    for (size_t j = 0; j < host.ranks.size(); ++j) {
      const auto rank = static_cast<size_t>(host.ranks[j]);
      if (rank >= assignment.ranks.size() || assignment.ranks[rank].host >= 0) return fail(incomplete());
      assignment.ranks[rank] = {static_cast<int>(i), host.devices[j]};
    }
  }
  if (assignment.ranks.empty()) return fail(incomplete());
  return assignment;
}

}  // namespace dlaunch::ranktable
