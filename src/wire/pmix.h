// The requests of ranks by PMIx, and the messages from the agent to dlaunch-pmix. PURE. docs/wire.md has the bytes of
// each message; wire/message.h describes how to add a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// A PMIx collective has ended on all participating hosts. Its data comes in pieces, in this order.
struct PmixShared {
  static constexpr std::uint8_t kType = 21;
  std::uint8_t kind = 0;    ///< as in PmixCollect
  std::string members;      ///< as in PmixCollect
  std::string data;         ///< data of all hosts, in order
  bool last = false;        ///< the last piece, with `status`
  std::int32_t status = 0;  ///< status of PMIx; 0: success
  void fields(auto& a) { a(kind, members, data, last, status); }
  bool operator==(const PmixShared&) const = default;
};

/// Requests the data of a rank on this host. The agent answers with PmixModex.
struct PmixModexAsk {
  static constexpr std::uint8_t kType = 22;
  std::uint32_t id = 0;
  std::string space;
  std::uint32_t of = 0;  ///< the rank
  void fields(auto& a) { a(id, space, of); }
  bool operator==(const PmixModexAsk&) const = default;
};

/// The answer to the PmixWant, PmixNames or SpawnAsk with this `id`.
struct PmixAnswer {
  static constexpr std::uint8_t kType = 23;
  std::uint32_t id = 0;
  std::int32_t status = 0;            ///< status of PMIx
  std::string data;                   ///< for PmixWant; for SpawnAsk: PMIx name of the new world
  std::vector<std::string> found;     ///< result of a lookup: space, key, value, …
  std::vector<std::uint32_t> owners;  ///< for each value, the rank that published it
  void fields(auto& a) { a(id, status, data, found, owners); }
  bool operator==(const PmixAnswer&) const = default;
};

/// The answer to PmixProgramAsk: the path of dlaunch-pmix on this machine, or its bytes in pieces.
struct PmixProgram {
  static constexpr std::uint8_t kType = 24;
  std::string path;  ///< empty: the bytes follow
  std::string bytes;
  bool last = true;
  std::string why;  ///< the reason why dlaunch-pmix is missing; empty: available
  void fields(auto& a) { a(path, bytes, last, why); }
  bool operator==(const PmixProgram&) const = default;
};

/// The first message from the agent to dlaunch-pmix: the job, and the directory for files. Two descriptors come along:
/// the listening socket of the clients, and the page with the MPI state of each rank (pmix/states.h).
struct PmixStart {
  static constexpr std::uint8_t kType = 25;
  std::string space;       ///< PMIx name of the job
  std::uint32_t node = 0;  ///< number of this host in the job
  std::string host;        ///< name of this host
  std::string directory;
  bool crowded = false;  ///< more ranks than CPUs
  void fields(auto& a) { a(space, node, host, directory, crowded); }
  bool operator==(const PmixStart&) const = default;
};

/// The PMIx description of a world for the ranks of any world. Sent once to each host that requested dlaunch-pmix, in
/// order.
struct PmixWorld {
  static constexpr std::uint8_t kType = 26;
  std::string space;                      ///< PMIx name of the world
  std::uint32_t first = 0;                ///< number of its rank 0, as in Spawn; the other ranks follow
  std::uint32_t universe = 0;             ///< slots of the job
  std::vector<std::string> hosts;         ///< names of hosts that are new with this PmixWorld
  std::vector<std::uint32_t> placed;      ///< host, number of ranks, …: the hosts of its ranks, in rank order
  std::vector<std::uint32_t> of_program;  ///< number of ranks per program
  std::string parent;                     ///< world of the rank that spawned it; empty: the first world
  std::uint32_t parent_rank = 0;          ///< the spawning rank, in its world
  void fields(auto& a) { a(space, first, universe, hosts, placed, of_program, parent, parent_rank); }
  bool operator==(const PmixWorld&) const = default;
};

// ---- both ways ----

/// A PMIx event from one rank to others. It is sent to all hosts that requested dlaunch-pmix, except the host of the
/// sender.
struct PmixEvent {
  static constexpr std::uint8_t kType = 27;
  static constexpr std::uint32_t kMost = 1u << 20;
  std::int32_t code = 0;   ///< code of PMIx
  std::string space;       ///< world of the sender
  std::uint32_t of = 0;    ///< rank of the sender in its world
  std::uint8_t range = 0;  ///< range of PMIx
  std::string infos;       ///< packed by libpmix
  void fields(auto& a) { a(code, space, of, range, infos); }
  bool operator==(const PmixEvent&) const = default;
};

// ---- agent to launcher ----

/// The part of this host in a PMIx collective: all its members have arrived. Answered by PmixShared.
struct PmixCollect {
  static constexpr std::uint8_t kType = 50;
  static constexpr std::uint32_t kMost = kMostShared + (2u << 20);
  std::uint8_t kind = 0;  ///< 0 fence, 1 connect, 2 disconnect, 3 construct a group, 4 destruct a group
  std::string members;    ///< in the form of pmix/members.h
  std::string data;       ///< with a fence
  void fields(auto& a) { a(kind, members, data); }
  bool operator==(const PmixCollect&) const = default;
};

/// A rank of this host requests the data of a rank on another host. Answered by PmixAnswer.
struct PmixWant {
  static constexpr std::uint8_t kType = 51;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t id = 0;
  std::string space;
  std::uint32_t of = 0;  ///< the rank with the data
  void fields(auto& a) { a(id, space, of); }
  bool operator==(const PmixWant&) const = default;
};

/// The answer to PmixModexAsk.
struct PmixModex {
  static constexpr std::uint8_t kType = 52;
  static constexpr std::uint32_t kMost = kMostShared + kMostNumbers;
  std::uint32_t id = 0;
  std::int32_t status = 0;  ///< status of PMIx
  std::string data;
  void fields(auto& a) { a(id, status, data); }
  bool operator==(const PmixModex&) const = default;
};

/// A rank publishes, looks up or unpublishes data. Answered by PmixAnswer.
struct PmixNames {
  static constexpr std::uint8_t kType = 53;
  static constexpr std::uint32_t kMost = kMostShared;
  std::uint32_t rank = 0;
  std::uint32_t id = 0;
  std::uint8_t what = 0;            ///< 0 publish, 1 look up, 2 unpublish
  std::vector<std::string> keys;    ///< for unpublish: empty means all keys of the rank
  std::vector<std::string> values;  ///< with publish: one value per key
  bool once = false;                ///< with publish: the first reader removes the value
  bool wait = false;                ///< with lookup: answer only when all keys are published
  void fields(auto& a) { a(rank, id, what, keys, values, once, wait); }
  bool operator==(const PmixNames&) const = default;
};

/// The agent needs dlaunch-pmix. Answered with PmixProgram.
struct PmixProgramAsk {
  static constexpr std::uint8_t kType = 54;
  static constexpr std::uint32_t kMost = kMostNames;
  std::string machine;  ///< machine of uname
  void fields(auto& a) { a(machine); }
  bool operator==(const PmixProgramAsk&) const = default;
};

/// PMIx is not available on this host (any more), and ranks need it.
struct PmixFailed {
  static constexpr std::uint8_t kType = 55;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;
  std::string hint;
  void fields(auto& a) { a(why, hint); }
  bool operator==(const PmixFailed&) const = default;
};

}  // namespace dlaunch::wire
