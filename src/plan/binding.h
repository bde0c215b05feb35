// Which CPUs each local rank is bound to. Pure: the topology comes from the host (agent/topology.h) or from a test.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

std::string_view to_string(BindTo bind_to);
std::string_view to_string(MapBy map_by);
std::string_view to_string(RankBy rank_by);

/// A hardware thread that may be used. Equal ids mean the same core, socket or NUMA node. A core's id is unique on the
/// host.
struct Pu {
  std::uint32_t os_index = 0;
  int core = 0;
  int socket = 0;
  int numa = 0;
  bool operator==(const Pu&) const = default;
};

/// Allowed hardware threads only, in the hardware's order: threads of a core, and cores of a socket, are consecutive.
struct Topology {
  std::vector<Pu> pus;
};

/// The CPUs (os indices, ascending) of each local rank. An empty list means not bound, as for BindTo::none.
///
/// map_by chooses the places: slot, core and node take one core after the other, hwthread one thread after the other,
/// socket and numa a core of each in turn. rank_by numbers these places: slot and node in the order taken, core in the
/// order of cores, socket a place of each socket in turn. bind_to gives each rank all allowed threads of the core,
/// socket or node of its place, or for hwthread just one.
///
/// With cores_per_rank a place is that many consecutive cores (or threads), under map_by socket and numa within one
/// socket or node; cores left over there stay free. BindTo::device is bind_near's.
///
/// Two ranks never share a core under BindTo::core, or a thread under BindTo::hwthread, unless `oversubscribe` is set:
/// then places are used again in the same order. Ranks may always share sockets and nodes.
Result<std::vector<std::vector<std::uint32_t>>> bind_ranks(const Topology& topology, const BindingRequest& request,
                                                           int local_ranks, bool oversubscribe);

/// The default binding of Open MPI 4.1: ranks are bound to the unit that they are mapped by. Where that is no part of a
/// host, up to two ranks are bound to cores (or `threads`), more to NUMA nodes in turn, and none on a host with more
/// ranks than slots (`crowded`). It is never an error.
BindingRequest bound_by_count(BindingRequest asked, size_t ranks, bool crowded, bool threads);
/// The CPUs of each local rank, given the NUMA node of its device: all allowed ones of that node, shared by its ranks.
/// An empty list, not bound, where the node is unknown or has no allowed CPU.
std::vector<std::vector<std::uint32_t>> bind_near(const Topology& topology,
                                                  const std::vector<std::optional<int>>& nodes);

}  // namespace dlaunch::plan
