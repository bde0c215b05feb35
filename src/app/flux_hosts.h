// Reads the hosts of a Flux instance from its resource set R (RFC 20).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::app {

/// The hosts of R in the order of their brokers' ranks, each with its rank as Reach::step. If R lists GPUs of a host,
/// the GPUs are its devices and set its slots; else its cores set its slots. PURE.
Result<std::vector<allocate::HostEntry>> hosts_in_r(std::string_view text);

/// Queries the instance; `flux` is the path of the program. Invalid output is an Error.
Result<std::vector<allocate::HostEntry>> ask_flux(const std::string& flux);

}  // namespace dlaunch::app
