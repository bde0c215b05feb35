// What a node says of itself once it has proved that it has the job's key, and whether the launcher was started for the
// same job. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::dialback {

/// Of a node that was not told which one it is: node 0 numbers it.
inline constexpr int kUnnumbered = -1;

struct Statement {
  std::string version;             ///< of dlaunch and its agent: both sides must be one build
  int nodes = 0;                   ///< of the job, the launcher's among them
  int node = 0;                    ///< this one's number, or kUnnumbered
  std::string name;                ///< the machine's host name
  std::vector<std::string> words;  ///< the programs with their numbers of ranks, as the command line has them
};

/// A record's payload. If the words do not fit into a record, their BLAKE2b digest is sent instead.
std::string to_payload(const Statement& statement);
Result<Statement> statement_in(std::string_view payload);

/// Why a node with this statement is none of the launcher's job, for a person on either side: it says which of both has
/// what. Nullopt: it is one.
std::optional<std::string> difference_from(const Statement& launcher, const Statement& node);

/// A record's payload for a node that is not to be one of the job, or whose job there will not be: why, and its exit
/// code.
std::string refusal_payload(const Error& error);
/// The Error as that node's user reads it. It is printable, whatever the payload is.
Error refusal_in(std::string_view payload);

/// The payload of SealedRecord::Kind::outcome; -1 for one that is none.
int exit_code_in(std::string_view payload);

/// The payload of a node's SealedRecord::Kind::data_end.
struct DataEnd {
  bool nothing_left = false;  ///< of the job, on that node
  std::string reason = {};    ///< may be empty
};
std::string to_payload(const DataEnd& end);
/// An unknown first byte counts as "something may be left". The reason is printable.
DataEnd data_end_in(std::string_view payload);

}  // namespace dlaunch::dialback
