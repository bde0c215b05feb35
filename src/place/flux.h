// Flux: an instance around this process. Its resource set R (RFC 20) has the hosts. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "place/manager_row.h"

namespace dlaunch::place {

extern const ManagerRow kFlux;

/// The hosts of R in the order of their brokers' ranks, each with its rank as Reach::step. If R lists GPUs of a host,
/// the GPUs are its devices and set its slots; else its cores set its slots. PURE.
Result<std::vector<hosts::HostEntry>> hosts_in_r(std::string_view text);

}  // namespace dlaunch::place
