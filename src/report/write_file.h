// Writes a whole text to a path in one step.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::report {

struct WriteAs {
  unsigned mode = 0666;  ///< of a new file, less the umask; an existing file keeps its mode and owner
  bool durable = false;  ///< the file and its name are on the device on return
};

/// A reader of `path` sees the old file or the new one, never a part: a temporary file beside it is renamed over it. An
/// existing pipe, device or link is written through instead of being replaced.
Result<void> write_file_atomically(const std::string& path, std::string_view text, WriteAs as = {});

/// Whether a new file takes the place of `path`, so that it is not written through.
bool is_replaced(const std::string& path);

/// A check before the job: an Error when writing would fail now, as far as can be told without doing it.
Result<void> check_can_write(const std::string& path);

}  // namespace dlaunch::report
