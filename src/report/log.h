// All that dlaunch itself says on stderr goes through one logger, which `run` owns and lends. The level tells what a
// message is, how it looks, and what may happen to it:
//
//   error  whole lines, as to_text() (dlaunch/error.h) and the functions of this room make them; always told
//   warn   a note, what a person should know: "dlaunch: note: text"; not with --quiet
//   info   with -v: "dlaunch: text"
//   debug  with -vv, which shows the time, too: "dlaunch: 12:34:56.789 text"
//
// Nothing waits for a reader: notes and lines of -v are left out and counted while he takes nothing
// (output/standard_streams.h). A text may be anybody's, but must hold no variable's value. For one thread.
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

/// One whose messages, as whole lines, go to `tell`.
using Tell = std::function<void(spdlog::level::level_enum level, std::string_view lines)>;
std::shared_ptr<spdlog::logger> make_log(Tell tell);

/// Tells errors and notes. The streams must outlive it.
std::shared_ptr<spdlog::logger> make_log(output::StandardStreams& streams);

/// As -v, -vv and --quiet say.
void set_verbosity(spdlog::logger& log, int verbosity, bool quiet);

/// The error's exit code.
int complain(spdlog::logger& log, const Error& error);

void tell_notes(spdlog::logger& log, const std::vector<std::string>& notes);

}  // namespace dlaunch::report
