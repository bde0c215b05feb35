// Writes a complete text to a file, atomically.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "dlaunch/error.h"
#include "sys/helper_process.h"

namespace dlaunch::report {

struct WriteAs {
  unsigned mode = 0666;                ///< of a new file, minus the umask; an existing file keeps its mode and owner
  bool durable = false;                ///< sync the file and its name to the device before the return
  bool claimed = false;                ///< write the new file of a FileClaim, and wait for this file
  sys::HelperProcess::Ends ends = {};  ///< of the writing process: after gave_up(), the write ends without a new file
  Time until = Time::max();            ///< waits for a program that reads a FIFO
};

/// A reader of `path` gets the old file or the new file, never a part: a temporary file in the same directory replaces
/// the old file. An existing pipe, device or link is not replaced but written to.
Result<void> write_file_atomically(const std::string& path, std::string_view text, WriteAs as = {});

/// Whether a new file would replace `path` (not for a pipe, device or link).
bool is_replaced(const std::string& path);

/// The Error (kExitOutput) of a failed write.
tl::unexpected<Error> cannot_write(const std::string& path, int error);

/// A check before the job: an Error if a write would probably fail now. Does not write.
Result<void> check_can_write(const std::string& path);

}  // namespace dlaunch::report
