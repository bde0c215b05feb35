// The logger for all messages of dlaunch on stderr. `run` owns it. The level determines the form of a message, and
// whether the message may be dropped:
//
// error  complete lines from to_text() (dlaunch/error.h) or from this module; never dropped
// warn   a note for the user: "dlaunch: note: text"; not with --quiet
// info   with -v: "dlaunch: text"
// debug  with -vv, which adds the time: "dlaunch: 12:34:56.789 text"
//
// Logging never waits for the reader of stderr: if the reader is slow, notes and -v lines are dropped and counted
// (output/standard_streams.h). A text may have any content except values of variables. For one thread.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::report {

/// A logger that passes its messages to `print`, as complete lines.
using PrintLines = std::function<void(spdlog::level::level_enum level, std::string_view lines)>;
std::shared_ptr<spdlog::logger> make_log(PrintLines print);

/// A logger that prints errors and notes. The streams must outlive it.
std::shared_ptr<spdlog::logger> make_log(output::StandardStreams& streams);

/// Applies -v, -vv and --quiet.
void set_verbosity(spdlog::logger& log, int verbosity, bool quiet);

/// Prints the error and returns its exit code. An Error without `what` has been printed before.
int complain(spdlog::logger& log, const Error& error);

void log_notes(spdlog::logger& log, const std::vector<std::string>& notes);

}  // namespace dlaunch::report
