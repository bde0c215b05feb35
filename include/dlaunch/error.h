// An error that a user, a host or the network caused, as a value. It says where, what, why, and the one thing to do.
// Exceptions are for what cannot happen.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace dlaunch {

/// The exit codes that are dlaunch's own (docs/exit-codes.md). A rank's own code or 128+signal comes before these.
inline constexpr int kExitOutput = 1;           ///< ranks' output or the report could not be written
inline constexpr int kExitRefused = 2;          ///< command line or plan refused, nothing started
inline constexpr int kExitPreempted = 75;       ///< every rank saved its state; the job is to be requeued
inline constexpr int kExitInVain = 93;          ///< with --checkpoint-signal: it is not to be requeued
inline constexpr int kExitTimeout = 124;        ///< --timeout ran out
inline constexpr int kExitHostLost = 125;       ///< a host could not be reached or was lost
inline constexpr int kExitNotExecutable = 126;  ///< program found but not executable
inline constexpr int kExitNotFound = 127;       ///< program not found
inline constexpr int kSignalBase = 128;         ///< with a signal's number: what a shell says of what it has killed

struct Error {
  std::string where;  ///< host, file:line, rank or option; may be empty
  std::string what;   ///< what failed
  std::string why;    ///< the cause, such as strerror's text; may be empty
  std::string hint;   ///< the one thing to do next; may be empty
  int exit_code = kExitRefused;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// "dlaunch: where: what: why\n" and, when there is a hint, "dlaunch:   hint\n". Empty parts leave no colon behind.
/// Further lines of `why` are indented. Control characters in any part are escaped.
std::string to_text(const Error& error);

}  // namespace dlaunch
