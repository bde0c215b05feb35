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

/// A hardware thread that may be used. Equal ids mean the same core, socket or NUMA node; a core id is unique on the
/// host, not in its socket.
struct Pu {
  std::uint32_t os_index = 0;
  int core = 0;
  int socket = 0;
  int numa = 0;
  bool operator==(const Pu&) const = default;
};

/// Allowed hardware threads only, in the order of the hardware: those of a core, cores of a socket next to each other.
struct Topology {
  std::vector<Pu> pus;
};

/// The CPUs (os indices, ascending) of each local rank; an empty list, not bound, for BindTo::none.
///
/// map_by lays the ranks: slot, core and node take one core after the other, hwthread one thread after the other,
/// socket and numa a core of each in turn. rank_by then numbers the places so taken: slot and node as they came, core
/// in the order of cores, socket a place of each socket in turn. bind_to gives each rank all allowed threads of the
/// core, socket or node of its place, or for hwthread just one.
///
/// With cores_per_rank a place is so many cores (or threads) next to each other, under map_by socket and numa of one
/// socket or node; what is left over there stays free.
/// BindTo::device is bind_near's.
///
/// Two ranks never share a core under BindTo::core, or a thread under BindTo::hwthread, unless `oversubscribe`: then
/// places are used again in the same order. Sockets and nodes are shared by nature.
Result<std::vector<std::vector<std::uint32_t>>> bind_ranks(const Topology& topology, const BindingRequest& request,
                                                           int local_ranks, bool oversubscribe);

/// What Open MPI 4.1 does when nobody asks: ranks are bound to the unit that they are mapped by; where that is none
/// within a host, up to two ranks to cores (or `threads`), more to NUMA nodes in turn. None where a host has more ranks
/// than slots (`crowded`). Nowhere an error.
BindingRequest bound_by_count(BindingRequest asked, size_t ranks, bool crowded, bool threads);
/// The CPUs of each local rank whose device is near that NUMA node: all that may be used there, shared by its ranks. An
/// empty list, not bound, where the node is not known or none of its CPUs may be used.
std::vector<std::vector<std::uint32_t>> bind_near(const Topology& topology,
                                                  const std::vector<std::optional<int>>& nodes);

}  // namespace dlaunch::plan
