// Computes the maximum number of descriptors of a job, so that a job over the limit is rejected before the start. PURE,
// except for check_open_files() and check_least_limits().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"

namespace dlaunch::launcher {

enum class RemoteTransport { ssh, command };

/// For the given number of ranks on each host (plan::host_at). Returns the launcher's number, or the number of a local
/// agent or of the file writer process if larger.
std::uint64_t open_files_needed(const plan::Plan& plan, const std::vector<int>& ranks_of_host,
                                const output::OutputSettings& output, RemoteTransport way);

/// The Error if the limit `allowed` is too low; else nullopt.
std::optional<Error> too_few_open_files(const plan::Plan& plan, std::uint64_t need, std::uint64_t allowed);

/// An Error if the job with these ranks on each host exceeds the limit of this process or of a local agent.
Result<void> check_open_files(const plan::Plan& plan, const std::vector<int>& ranks_of_host, const JobOptions& options);

/// Like the overload above, for the ranks of the plan.
Result<void> check_open_files(const plan::Plan& plan, const JobOptions& options);

/// An Error if the limit of open files or of the size of a file is too low for a job without ranks. Call before the
/// first connection: without descriptors dlaunch cannot even look up a host name or read the reason of a failure.
Result<void> check_least_limits();

}  // namespace dlaunch::launcher
