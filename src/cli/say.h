// What dlaunch itself prints before or without a job.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace dlaunch::cli {

/// On stderr; the error's exit code.
int complain(const Error& error);

/// On stderr, a line each.
void tell_notes(const std::vector<std::string>& notes);

/// Prints text that was asked for; the exit code. A full disk is an error, a reader that has seen enough is not.
int print(const std::string& text, int exit_code);

}  // namespace dlaunch::cli
