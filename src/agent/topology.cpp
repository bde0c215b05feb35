#include "agent/topology.h"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace dlaunch::agent {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Destroy>;

tl::unexpected<Error> hwloc_failed(const char* step) {
  return fail({.where = {},
               .what = "cannot read the CPU topology",
               .why = std::string(step) + ": " + std::strerror(errno),
               .hint = "run without --bind-to"});
}

/// Discovers only threads, cores, sockets and NUMA nodes: no caches and no I/O. The x86 component is off: it moves this
/// process from CPU to CPU for data that Linux reports anyway.
bool keep_discovery_short(hwloc_topology* topology, unsigned long which) {
  // Fails without this component, on all other machine types.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  return hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_set_flags(topology, which | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                                                HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                                HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS) == 0;
}

int id_of(hwloc_topology* topology, hwloc_obj_type_t type, hwloc_obj* pu, int otherwise) {
  const hwloc_obj* object = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return object == nullptr ? otherwise : static_cast<int>(object->logical_index);
}

plan::Pu describe(hwloc_topology* topology, hwloc_obj* pu) {
  const int numa = pu->nodeset == nullptr ? -1 : hwloc_bitmap_first(pu->nodeset);
  return {.os_index = pu->os_index,
          .core = id_of(topology, HWLOC_OBJ_CORE, pu, static_cast<int>(pu->logical_index)),
          .socket = id_of(topology, HWLOC_OBJ_PACKAGE, pu, 0),
          .numa = numa < 0 ? 0 : numa};
}

Result<plan::Topology> read(unsigned long which) {
  hwloc_topology* made = nullptr;
  if (hwloc_topology_init(&made) != 0) return hwloc_failed("hwloc_topology_init");
  const HwlocTopology topology(made);
  if (!keep_discovery_short(topology.get(), which)) return hwloc_failed("hwloc_topology_set_flags");
  if (hwloc_topology_load(topology.get()) != 0) return hwloc_failed("hwloc_topology_load");
  plan::Topology result;
  for (hwloc_obj* pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, pu)) != nullptr;) {
    result.pus.push_back(describe(topology.get(), pu));
  }
  return result;
}

}  // namespace

Result<plan::Topology> read_topology() { return read(HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING); }

Result<plan::Topology> read_whole_topology() { return read(HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED); }

}  // namespace dlaunch::agent
