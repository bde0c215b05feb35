// The hosts of a job, from the user's request and the job of a batch system around this process. Pure, except for the
// files of that job, which `place` reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/request.h"
#include "place/place.h"
#include "settle/facts.h"

namespace dlaunch::settle {

/// The part of the batch system in a request for hosts.
struct OfManager {
  std::vector<hosts::HostEntry> hosts = {};  ///< its answer to the question for its hosts; empty: not asked
  bool starts_agents = false;                ///< its command starts the agents
};

/// Whether neither the request nor the job names another host. Does not require an answer.
bool names_no_host(const hosts::HostRequest& request, const place::Place& place);

/// The hosts with the slots and devices that are known without a question to a host.
Settling<plan::Allocation> choose_hosts(const hosts::HostRequest& request, const place::Place& place,
                                        const OfManager& manager, const Facts& facts);

/// The same hosts. A host without configured slots has one slot for each device found there, else for each CPU.
Settling<plan::Allocation> with_slots(plan::Allocation allocation, const hosts::HostRequest& request,
                                      const Facts& facts);

/// The kind of the devices in a HostInfo; none if this version does not know the kind.
plan::DeviceKind device_kind(const wire::HostInfo& info);

/// Sets the slots of a host without configured slots.
void fill_slots(plan::Host& host, const wire::HostInfo& info);

}  // namespace dlaunch::settle
