// What tells this host from all others, whatever name it was reached by.
#pragma once

#include <string>

namespace dlaunch::agent {

/// The running kernel and the namespaces that make a container a host of its own. Empty when /proc does not say.
std::string host_identity();

}  // namespace dlaunch::agent
