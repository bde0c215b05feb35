// What is told of a file or stream that cannot be written.
#pragma once

#include <string>

#include "dlaunch/error.h"

namespace dlaunch::output {

/// "cannot WHAT: strerror", with what to do about it.
Error sink_error(const std::string& what, int error);

}  // namespace dlaunch::output
