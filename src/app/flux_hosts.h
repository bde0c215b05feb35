// The hosts of a Flux instance, by its resource set R (RFC 20).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::app {

/// The hosts of R in the order of their brokers' ranks, each with its rank as Reach::step. A host's GPUs are its
/// devices and its slots, where R names any there; else its cores are its slots. Pure.
Result<std::vector<allocate::HostEntry>> hosts_in_r(std::string_view text);

/// Asks the instance; `flux`: the program. What it says but cannot be understood is an Error.
Result<std::vector<allocate::HostEntry>> ask_flux(const std::string& flux);

}  // namespace dlaunch::app
