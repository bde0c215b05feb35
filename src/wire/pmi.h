// MPI worlds, and what their ranks ask of each other by PMI-1 and PMI-2. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// Ranks of this host belong to an MPI world: each gets a PMI connection (docs/mpi.md). Sent before the first Spawn of
/// one of them. World 1 is the job as it was started; each world that ranks spawn has the next number.
struct MpiWorld {
  static constexpr std::uint8_t kType = 13;
  std::uint32_t world = 1;
  std::uint32_t first = 0;         ///< number of its rank 0, as Spawn has it; the others follow
  std::uint32_t size = 0;          ///< how many ranks it has
  std::uint32_t here = 0;          ///< how many of them are on this host
  std::uint32_t first_app = 0;     ///< number of its first program, as Program has it
  std::string space;               ///< the name of its key-value space
  std::uint32_t universe = 0;      ///< slots of the job
  std::string mapping;             ///< PMI_process_mapping; empty: not told
  bool alone = false;              ///< no other host takes part, so fences end here
  bool probe = false;              ///< look first which MPI a program may use, if any
  std::vector<std::string> pairs;  ///< in its key-value space from the start: key, value, key, value, …
  std::string parent;              ///< the space of the world whose rank asked for this one; empty: world 1
  bool pmi1 = true;                ///< the MPICH family is served
  bool pmix = false;               ///< Open MPI and other clients of PMIx are served
  bool personal = false;           ///< its ranks get all that Open MPI's own launcher tells them
  std::string no_pmix;             ///< why a program that needs PMIx gets none; empty: nothing to tell
  std::string pmix_space;          ///< PMIx's name of this world, which no other user can guess
  std::uint32_t node = 0;          ///< this host's number within the job
  std::string name;                ///< with PMIx: this host's name there
  void fields(auto& a) {
    a(world, first, size, here, first_app, space, universe, mapping, alone, probe, pairs, parent, pmi1, pmix, personal,
      no_pmix, pmix_space, node, name);
  }
  bool operator==(const MpiWorld&) const = default;
};

/// What all hosts put before a fence of this world, in pieces; the one with `last` ends the fence.
struct FenceOut {
  static constexpr std::uint8_t kType = 18;
  std::uint32_t world = 1;
  std::vector<std::string> pairs;  ///< key, value, key, value, …
  bool last = false;
  bool broken = false;  ///< the fence failed: connections of clients that wait in it are closed
  void fields(auto& a) { a(world, pairs, last, broken); }
  bool operator==(const FenceOut&) const = default;
};

/// The answer to NameAsk.
struct NameAnswer {
  static constexpr std::uint8_t kType = 19;
  std::uint32_t rank = 0;
  bool ok = false;
  std::string port;  ///< the one that a lookup found
  void fields(auto& a) { a(rank, ok, port); }
  bool operator==(const NameAnswer&) const = default;
};

/// The answer to SpawnAsk.
struct SpawnAnswer {
  static constexpr std::uint8_t kType = 20;
  std::uint32_t rank = 0;
  bool ok = false;          ///< the ranks are being started
  std::uint32_t world = 0;  ///< their world
  std::string space;        ///< the name of its key-value space
  void fields(auto& a) { a(rank, ok, world, space); }
  bool operator==(const SpawnAnswer&) const = default;
};

// ---- agent to launcher ----

/// All ranks of this world on this host wait in a fence. Answered by FenceOut. One at a time for each world.
struct FenceIn {
  static constexpr std::uint8_t kType = 42;
  static constexpr std::uint32_t kMost = kMostShared + (1u << 20);
  std::uint32_t world = 1;
  std::vector<std::string> pairs;   ///< put here since the last one: key, value, key, value, …
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

/// A rank asks for another world. The lists `ranks` to `wdirs` have an entry for each program.
struct SpawnAsk {
  static constexpr std::uint8_t kType = 47;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::uint32_t rank = 0;
  bool pmix = false;     ///< answered by PmixAnswer; else by SpawnAnswer, and the rank waits for it
  std::uint32_t id = 0;  ///< with `pmix`: number of the answer
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> words;  ///< how many words of `argv` each program has
  std::vector<std::uint32_t> set;    ///< how many of `env`
  std::vector<std::uint32_t> named;  ///< how many of `hosts`
  std::vector<std::string> wdirs;    ///< empty: not said
  std::vector<std::string> argv;     ///< of all programs, one after the other, as the next two lists
  std::vector<std::string> env;      ///< NAME=VALUE
  std::vector<std::string> hosts;    ///< the only ones that the program may run on; empty: all
  std::vector<std::string> pairs;    ///< in the new world's key-value space from the start: key, value, …
  void fields(auto& a) { a(rank, pmix, id, ranks, words, set, named, wdirs, argv, env, hosts, pairs); }
  bool operator==(const SpawnAsk&) const = default;
};

/// The rank called MPI_Abort. Its Ended still comes.
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
