// Identifies this host, whatever name it was reached by.
#pragma once

#include <string>

namespace dlaunch::agent {

/// From the running kernel and the namespaces that make a container a host of its own. Empty when /proc does not say.
std::string host_identity();

}  // namespace dlaunch::agent
