// Puts a whole text where a path says, in one step.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::report {

struct WriteAs {
  unsigned mode = 0666;  ///< of a new file, less the umask; one that is there keeps its mode and owner
  bool durable = false;  ///< it is on the device when this returns, under its name
};

/// A reader of `path` sees the old file or the new one, never a part: a temporary file beside it is renamed over it.
/// What is there and is no regular file (a pipe, /dev/stdout, a link) is written through instead of being replaced.
Result<void> write_file_atomically(const std::string& path, std::string_view text, WriteAs as = {});

/// Whether that makes a new file of `path`, and does not write through it.
bool is_replaced(const std::string& path);

/// For before the job: an Error when it would fail now, as far as can be told without writing.
Result<void> check_can_write(const std::string& path);

}  // namespace dlaunch::report
