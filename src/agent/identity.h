// Identifies this host independently of its name (each container and each fake host is a host), and gives the
// environment entries that mark the job's ranks.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::agent {

/// From the running kernel and the namespaces, so that a container counts as a separate host, and each fake host of
/// --fake-hosts, too. Empty if /proc does not have the data.
std::string host_identity();

/// The environment entries by which the job's ranks on this host are recognized.
std::vector<std::string> marks_of_ranks(const std::string& job_id);

}  // namespace dlaunch::agent
