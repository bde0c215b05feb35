// The value for an error that a user, a host or the network causes: where, what, why, and the next step. Exceptions
// report only faults of dlaunch, or missing memory, threads or descriptors.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace dlaunch {

/// dlaunch's own exit codes (docs/exit-codes.md). If a rank failed, dlaunch exits with the rank's exit code or
/// 128+signal instead.
inline constexpr int kExitInput = 1;       ///< dlaunch could not read stdin
inline constexpr int kExitOutput = 1;      ///< dlaunch could not write the output of ranks, or the report
inline constexpr int kExitRefused = 2;     ///< invalid command line or plan; no rank was started
inline constexpr int kExitPreempted = 75;  ///< every rank saved its state: the batch system should requeue the job
inline constexpr int kExitInVain = 93;     ///< with --checkpoint-signal: the batch system should not requeue the job
inline constexpr int kExitTimeout = 124;   ///< --timeout ran out
inline constexpr int kExitHostLost = 125;  ///< a host could not be reached or was lost
inline constexpr int kExitNotExecutable = 126;  ///< program found but not executable
inline constexpr int kExitNotFound = 127;       ///< program not found
inline constexpr int kSignalBase = 128;         ///< a rank killed by signal N: 128+N, as in a shell

struct Error {
  std::string where;  ///< host, file:line, rank or option; may be empty
  std::string what;   ///< what failed
  std::string why;    ///< the cause, such as strerror's text; may be empty
  std::string hint;   ///< the next step; may be empty
  int exit_code = kExitRefused;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// "dlaunch: where: what: why\n" and, with a hint, "dlaunch:   hint\n". An empty part is omitted together with its
/// colon. Further lines of `why` are indented. Control characters are escaped.
std::string to_text(const Error& error);

}  // namespace dlaunch
