// MPI worlds, the requests of their ranks by PMI-1, PMI-2 and PMIx, and the messages from the agent to dlaunch-pmix.
// PURE. docs/wire.md has the bytes of each message; wire/message.h describes how to add a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spawn_program.h"
#include "wire/limits.h"

namespace dlaunch::wire {

// ---- PMI: launcher to agent ----

/// Ranks of this host belong to an MPI world: each gets a PMI connection (docs/mpi.md). Sent before the first Spawn of
/// such a rank. World 1 has the ranks of the start; each spawned world has the next number.
struct MpiWorld {
  static constexpr std::uint8_t kType = 13;
  std::uint32_t world = 1;
  std::uint32_t first = 0;         ///< number of its rank 0, as in Spawn; the other ranks follow
  std::uint32_t size = 0;          ///< number of its ranks
  std::uint32_t here = 0;          ///< number of its ranks on this host
  std::uint32_t first_app = 0;     ///< number of its first program, as in Program
  std::string space;               ///< name of its key-value space
  std::uint32_t universe = 0;      ///< slots of the job
  std::string mapping;             ///< PMI_process_mapping; empty: not sent
  bool alone = false;              ///< no other host takes part: fences end on this host
  bool probe = false;              ///< first find the MPI that a program may use, if any
  std::vector<std::string> pairs;  ///< initial content of its key-value space: key, value, key, value, …
  std::string parent;              ///< space of the world that spawned this world; empty: world 1
  bool pmi1 = true;                ///< the host serves the MPICH family
  bool pmix = false;               ///< the host serves Open MPI and other clients of PMIx
  bool personal = false;           ///< the ranks get all data that the launcher of Open MPI gives
  std::string no_pmix;             ///< the reason why a program that needs PMIx does not get it; empty: no reason
  std::string pmix_space;          ///< PMIx name of this world; other users cannot guess it
  std::uint32_t node = 0;          ///< number of this host in the job
  std::string name;                ///< with PMIx: name of this host
  void fields(auto& a) {
    a(world, first, size, here, first_app, space, universe, mapping, alone, probe, pairs, parent, pmi1, pmix, personal,
      no_pmix, pmix_space, node, name);
  }
  bool operator==(const MpiWorld&) const = default;
};

/// The data that all hosts put before a fence of this world, in pieces. The piece with `last` ends the fence.
struct FenceOut {
  static constexpr std::uint8_t kType = 18;
  std::uint32_t world = 1;
  std::vector<std::string> pairs;  ///< key, value, key, value, …
  bool last = false;
  bool broken = false;  ///< the fence failed: the agent closes the connections of the waiting clients
  void fields(auto& a) { a(world, pairs, last, broken); }
  bool operator==(const FenceOut&) const = default;
};

/// The answer to NameAsk.
struct NameAnswer {
  static constexpr std::uint8_t kType = 19;
  std::uint32_t rank = 0;
  bool ok = false;
  std::string port;  ///< the result of a lookup
  void fields(auto& a) { a(rank, ok, port); }
  bool operator==(const NameAnswer&) const = default;
};

/// The answer to SpawnAsk.
struct SpawnAnswer {
  static constexpr std::uint8_t kType = 20;
  std::uint32_t rank = 0;
  bool ok = false;          ///< the ranks are starting
  std::uint32_t world = 0;  ///< world of the new ranks
  std::string space;        ///< name of its key-value space
  void fields(auto& a) { a(rank, ok, world, space); }
  bool operator==(const SpawnAnswer&) const = default;
};

// ---- PMI: agent to launcher ----

/// All ranks of this world on this host wait in a fence. Answered by FenceOut. One fence at a time per world.
struct FenceIn {
  static constexpr std::uint8_t kType = 42;
  static constexpr std::uint32_t kMost = kMostShared + (1u << 20);
  std::uint32_t world = 1;
  std::vector<std::string> pairs;   ///< new data of this host: key, value, key, value, …
  std::vector<std::uint32_t> gone;  ///< ranks of this host that can never reach a fence
  void fields(auto& a) { a(world, pairs, gone); }
  bool operator==(const FenceIn&) const = default;
};

/// A rank publishes, looks up or unpublishes a name. Answered by NameAnswer.
struct NameAsk {
  static constexpr std::uint8_t kType = 43;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t rank = 0;
  std::uint8_t what = 0;  ///< 0 publish, 1 look up, 2 unpublish
  std::string service;
  std::string port;  ///< with publish
  void fields(auto& a) { a(rank, what, service, port); }
  bool operator==(const NameAsk&) const = default;
};

/// A rank requests another world. The lists `ranks` to `wdirs` have one entry per program.
struct SpawnAsk {
  static constexpr std::uint8_t kType = 47;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::uint32_t rank = 0;
  bool pmix = false;     ///< answered by PmixAnswer; else by SpawnAnswer, for which the rank waits
  std::uint32_t id = 0;  ///< with `pmix`: number of the answer
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> words;  ///< number of words in `argv` per program
  std::vector<std::uint32_t> set;    ///< number of entries in `env` per program
  std::vector<std::uint32_t> named;  ///< number of entries in `hosts` per program
  std::vector<std::string> wdirs;    ///< empty: not set
  std::vector<std::string> argv;     ///< words of all programs in order, as in the next two lists
  std::vector<std::string> env;      ///< NAME=VALUE
  std::vector<std::string> hosts;    ///< the only allowed hosts; empty: all
  std::vector<std::string> pairs;    ///< initial content of the new world's key-value space: key, value, …
  void fields(auto& a) { a(rank, pmix, id, ranks, words, set, named, wdirs, argv, env, hosts, pairs); }
  bool operator==(const SpawnAsk&) const = default;
};

/// The rank called MPI_Abort. Its Ended follows later.
struct MpiAbort {
  static constexpr std::uint8_t kType = 46;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint32_t code = 0;  ///< 0 to 255
  std::int64_t time_ns = 0;
  void fields(auto& a) { a(rank, code, time_ns); }
  bool operator==(const MpiAbort&) const = default;
};

// ---- PMIx: launcher to agent ----

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

/// A PMIx event from one rank to others. The event is sent to all hosts that requested dlaunch-pmix, except the host of
/// the sender.
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
  std::string members;    ///< in the form of pmix/collectives.h
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

// Converts the programs of a spawn into a SpawnAsk, whose lists have the words of all programs in order, and back.
// PURE.

void add(SpawnAsk& ask, SpawnProgram program);

/// Returns nullopt if the lists do not match each other.
std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask);

}  // namespace dlaunch::wire
