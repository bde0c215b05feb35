// Reads the hosts of a Flux instance from its resource set R (RFC 20).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::place {

/// The command that prints R, as errors name it.
inline constexpr const char* kResources = "flux kvs get resource.R";

/// The hosts of R in the order of their brokers' ranks, each with its rank as Reach::step. If R lists GPUs of a host,
/// the GPUs are its devices and set its slots; else its cores set its slots. PURE.
Result<std::vector<hosts::HostEntry>> hosts_in_r(std::string_view text);

}  // namespace dlaunch::place
