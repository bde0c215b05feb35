// Identifies this host, whatever name it was reached by.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::agent {

/// From the running kernel and the namespaces that make a container a host of its own; of --fake-hosts each is one.
/// Empty when /proc does not say.
std::string host_identity();

/// The entries of their environment by which the job's ranks of this host are known.
std::vector<std::string> marks_of_ranks(const std::string& job_id);

}  // namespace dlaunch::agent
