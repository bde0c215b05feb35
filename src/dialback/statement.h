// The statement of an authenticated node about its start, and the comparison with the launcher's own statement. PURE.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::dialback {

/// For a node without a number: node 0 assigns a number.
inline constexpr int kUnnumbered = -1;

struct Statement {
  std::string version;             ///< of dlaunch and its agent: both sides must be the same build
  int nodes = 0;                   ///< of the job, including the launcher
  int node = 0;                    ///< the number of this node, or kUnnumbered
  std::string name;                ///< the machine's host name
  std::vector<std::string> words;  ///< the programs with their numbers of ranks, as in the command line
};

/// The payload of a record. Words too long for a record are replaced by their BLAKE2b digest.
std::string to_payload(const Statement& statement);
Result<Statement> statement_in(std::string_view payload);

/// Why this node does not belong to the launcher's job, with the values of both sides, for users on both sides.
/// nullopt: the node belongs to the job.
std::optional<std::string> difference_from(const Statement& launcher, const Statement& node);

/// The payload of SealedRecord::Kind::welcome.
struct Welcome {
  std::string job_id;
  std::chrono::milliseconds heartbeat;    ///< the interval for both sides; at most 60 s
  std::chrono::milliseconds pause_limit;  ///< the longest silence of a stopped launcher; at most 7 days
};
std::string to_payload(const Welcome& welcome);
/// The job's id is printable.
Result<Welcome> welcome_in(std::string_view payload);

/// The payload for a refused node, or for a node of a job that will not start: the reason, and the exit code for the
/// node.
std::string refusal_payload(const Error& error);
/// The Error for the node's user. The text is printable for any payload.
Error refusal_in(std::string_view payload);

/// Parses the payload of SealedRecord::Kind::outcome; -1 if invalid.
int exit_code_in(std::string_view payload);

/// The payload of a node's SealedRecord::Kind::data_end.
struct DataEnd {
  bool nothing_left = false;  ///< true: no process of the job is left on the node
  std::string reason = {};    ///< may be empty
};
std::string to_payload(const DataEnd& end);
/// An unknown first byte means "a process may be left". The reason is printable.
DataEnd data_end_in(std::string_view payload);

}  // namespace dlaunch::dialback
