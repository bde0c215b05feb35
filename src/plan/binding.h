// Chooses the CPUs for each local rank. Pure: the topology comes from the host (agent/topology.h) or from a test.
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

/// A hardware thread that this process may use. Equal ids mean the same core, socket or NUMA node. A core's id is
/// unique on the host.
struct Pu {
  std::uint32_t os_index = 0;
  int core = 0;
  int socket = 0;
  int numa = 0;
  bool operator==(const Pu&) const = default;
};

/// Allowed hardware threads only, in hardware order: threads of a core, and cores of a socket, are consecutive.
struct Topology {
  std::vector<Pu> pus;
};

/// The CPUs (os indices, ascending) of each local rank. An empty list means no binding, as for BindTo::none.
///
/// map_by chooses the places: slot, core and node take one core after the other; hwthread takes one thread after the
/// other; socket and numa take one core of each socket or NUMA node in turn. rank_by numbers these places. With slot or
/// node: in the order of map_by. With core: in hardware order. With socket: one place of each socket in turn. bind_to
/// gives each rank all allowed threads of the core, socket or node of its place. With hwthread each rank gets one
/// thread.
///
/// With cores_per_rank, a place has N consecutive cores (or threads). Under map_by socket and numa, these cores are
/// within one socket or node, and its remaining cores stay free. bind_near handles BindTo::device.
///
/// Two ranks never share a core under BindTo::core, or a thread under BindTo::hwthread, unless `oversubscribe` is set:
/// then ranks reuse the places in the same order. Ranks may always share sockets and nodes.
Result<std::vector<std::vector<std::uint32_t>>> bind_ranks(const Topology& topology, const BindingRequest& request,
                                                           int local_ranks, bool oversubscribe);

/// The default binding of Open MPI 4.1: ranks are bound to the unit of their mapping. If the mapping has no such unit,
/// up to two ranks are bound to cores (or `threads`), and more than two ranks to NUMA nodes in turn. On a host with
/// more ranks than slots (`crowded`) no rank is bound. Never an error.
BindingRequest bound_by_count(BindingRequest asked, size_t ranks, bool crowded, bool threads);
/// The CPUs of each local rank, given the NUMA node of its device: all allowed CPUs of the node, shared by its ranks.
/// An empty list means no binding: the node is unknown or has 0 allowed CPUs.
std::vector<std::vector<std::uint32_t>> bind_near(const Topology& topology,
                                                  const std::vector<std::optional<int>>& nodes);

}  // namespace dlaunch::plan
