// What dlaunch itself says and prints, apart from a job's own output. None of it waits for a reader: run() does, at the
// end.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// On stderr; the error's exit code.
int complain(output::StandardStreams& streams, const Error& error);

/// Whole lines on stderr.
void say(output::StandardStreams& streams, const std::string& lines);

/// What a person should know.
void note(output::StandardStreams& streams, const std::string& text);

void tell_notes(output::StandardStreams& streams, const std::vector<std::string>& notes);

/// Prints text that was asked for; the exit code. A full disk is an error, a reader that has seen enough is not.
int print(output::StandardStreams& streams, const std::string& text, int exit_code);

}  // namespace dlaunch::app
