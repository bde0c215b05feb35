// All that dlaunch itself says on stderr goes through one logger, which `run` owns and lends. The level says what a
// message is, how it looks, and whether it may be dropped:
//
// error  whole lines, as to_text() (dlaunch/error.h) and the functions of this room make them; never dropped
// warn   a note, which a person should read: "dlaunch: note: text"; not with --quiet
//   info   with -v: "dlaunch: text"
//   debug  with -vv, which shows the time, too: "dlaunch: 12:34:56.789 text"
//
// Nothing waits for a reader: while one takes nothing, notes and lines of -v are dropped and counted
// (output/standard_streams.h). A text may come from anybody, but must hold no variable's value. For one thread.
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

/// A logger that hands its messages, as whole lines, to `tell`.
using Tell = std::function<void(spdlog::level::level_enum level, std::string_view lines)>;
std::shared_ptr<spdlog::logger> make_log(Tell tell);

/// A logger that prints errors and notes. The streams must outlive it.
std::shared_ptr<spdlog::logger> make_log(output::StandardStreams& streams);

/// Sets what -v, -vv and --quiet ask for.
void set_verbosity(spdlog::logger& log, int verbosity, bool quiet);

/// Prints the error and returns its exit code.
int complain(spdlog::logger& log, const Error& error);

void tell_notes(spdlog::logger& log, const std::vector<std::string>& notes);

}  // namespace dlaunch::report
