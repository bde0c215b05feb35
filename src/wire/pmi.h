// MPI worlds, and the requests of their ranks by PMI-1 and PMI-2. PURE. docs/wire.md has the bytes of each message;
// wire/message.h describes how to add a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

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

// ---- agent to launcher ----

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

}  // namespace dlaunch::wire
