// The most descriptors that a job can take, so that a job that would run out of them is refused before it starts. PURE
// but for check_open_files().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"

namespace dlaunch::launcher {

enum class RemoteTransport { ssh, command };

/// For so many ranks on each host (plan::host_at). It is the launcher's number, or a larger one of an agent on this
/// machine or of the process that writes the files.
std::uint64_t open_files_needed(const plan::Plan& plan, const std::vector<int>& ranks_of_host,
                                const output::OutputSettings& output, RemoteTransport way);

/// The Error when only `allowed` may be open; nullopt when that is enough.
std::optional<Error> too_few_open_files(const plan::Plan& plan, std::uint64_t need, std::uint64_t allowed);

/// An Error when so many ranks on each host at one time are too many for this process or an agent here.
Result<void> check_open_files(const plan::Plan& plan, const std::vector<int>& ranks_of_host, const JobOptions& options);

/// The same for the plan as it is.
Result<void> check_open_files(const plan::Plan& plan, const JobOptions& options);

}  // namespace dlaunch::launcher
