// The files that options of a job name. PURE, except check_linked_names().
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "output/standard_streams.h"
#include "sys/io.h"

namespace dlaunch::session {

struct LogFile {
  output::Stream stream;
  std::string path;     ///< normalized
  std::string spelled;  ///< the files of equal names are shared
};

/// The log files of all ranks, in the order of the ranks.
std::vector<LogFile> log_files(const JobOptions& options, const plan::Plan& plan);

/// The log directory that --keep-logs renames, normalized; empty: none.
std::string renamed_directory(const output::OutputSettings& output);

/// Rejects two options that name the same file; dlaunch itself writes files into rank directories. Also rejects files
/// in a rank directory that the start of the job would remove: the files of --report, --junit and --report-pid, and
/// kept logs. `pid_file` is the file of --report-pid, or empty.
Result<void> check_file_names(const JobOptions& options, const std::string& pid_file, const plan::Plan& plan);

/// Rejects different names of one file, through links and descriptors, for two files that the job writes, and for a
/// written file that the job also reads, or that is stdin, stdout or stderr of dlaunch (`streams`). Also rejects files
/// that the start of the job would remove or rename through a link, and all such files that no option writes.
/// `read_files`: see HostSession. Waits for the disk (same_files.h): call before the loop runs.
Result<void> check_linked_names(const JobOptions& options, const std::string& pid_file,
                                const std::vector<std::string>& read_files, const output::StandardStreams& streams,
                                const plan::Plan& plan, const sys::Wait& wait);

}  // namespace dlaunch::session
