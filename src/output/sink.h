// A writer with a name, and its failure told once.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "output/fd_writer.h"

namespace dlaunch::output {

struct Sink {
  std::string name;  ///< a path, "stdout" or "stderr"
  FdWriter writer;
  bool told = false;

  /// errno of a failure not told before, else 0.
  int new_failure() {
    if (told || writer.error() == 0) return 0;
    told = true;
    return writer.error();
  }
};

/// "cannot WHAT: strerror", with what to do about it.
Error sink_error(const std::string& what, int error);

}  // namespace dlaunch::output
