// What ranks ask of each other by PMIx, and what the agent tells dlaunch-pmix. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// A PMIx collective is over on all hosts that take part. Its data comes in pieces, in this order.
struct PmixShared {
  static constexpr std::uint8_t kType = 21;
  std::uint8_t kind = 0;    ///< as PmixCollect
  std::string members;      ///< as PmixCollect
  std::string data;         ///< of all hosts, one after the other
  bool last = false;        ///< the piece that ends the data and has `status`
  std::int32_t status = 0;  ///< PMIx's; 0: it succeeded
  void fields(auto& a) { a(kind, members, data, last, status); }
  bool operator==(const PmixShared&) const = default;
};

/// Asks what a rank of this host has for others. The agent answers PmixModex.
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
  std::int32_t status = 0;            ///< PMIx's
  std::string data;                   ///< for PmixWant; for SpawnAsk: PMIx's name of the new world
  std::vector<std::string> found;     ///< of a lookup: space, key, value, …
  std::vector<std::uint32_t> owners;  ///< for each of them, the rank that published it
  void fields(auto& a) { a(id, status, data, found, owners); }
  bool operator==(const PmixAnswer&) const = default;
};

/// The answer to PmixProgramAsk: where dlaunch-pmix is on this machine, or its bytes, in pieces.
struct PmixProgram {
  static constexpr std::uint8_t kType = 24;
  std::string path;  ///< empty: the bytes come
  std::string bytes;
  bool last = true;
  std::string why;  ///< why there is none; empty: there is one
  void fields(auto& a) { a(path, bytes, last, why); }
  bool operator==(const PmixProgram&) const = default;
};

/// Sent by the agent to dlaunch-pmix alone, first: the job, and where it may keep files. Two descriptors come with it:
/// the listening socket whose address clients have, and the page that says which rank is in MPI (pmix/states.h).
struct PmixStart {
  static constexpr std::uint8_t kType = 25;
  std::string space;       ///< PMIx's name of the job
  std::uint32_t node = 0;  ///< this host's number within the job
  std::string host;        ///< its name
  std::string directory;
  bool crowded = false;  ///< more ranks than CPUs
  void fields(auto& a) { a(space, node, host, directory, crowded); }
  bool operator==(const PmixStart&) const = default;
};

/// A world as PMIx describes it to ranks of any world. Sent to hosts that asked for dlaunch-pmix, each once, in order.
struct PmixWorld {
  static constexpr std::uint8_t kType = 26;
  std::string space;                      ///< PMIx's name of it
  std::uint32_t first = 0;                ///< number of its rank 0, as Spawn has it; the others follow
  std::uint32_t universe = 0;             ///< slots of the job
  std::vector<std::string> hosts;         ///< names of the job's hosts that no earlier PmixWorld named
  std::vector<std::uint32_t> placed;      ///< host, number of ranks, …: where its ranks run, in rank order
  std::vector<std::uint32_t> of_program;  ///< how many ranks each program has
  std::string parent;                     ///< the world of the rank that spawned it; empty: it is the job's first
  std::uint32_t parent_rank = 0;          ///< that rank, in its world
  void fields(auto& a) { a(space, first, universe, hosts, placed, of_program, parent, parent_rank); }
  bool operator==(const PmixWorld&) const = default;
};

// ---- both ways ----

/// An event that a rank sends others by PMIx. It goes to all hosts that asked for dlaunch-pmix but its own.
struct PmixEvent {
  static constexpr std::uint8_t kType = 27;
  static constexpr std::uint32_t kMost = 1u << 20;
  std::int32_t code = 0;   ///< PMIx's
  std::string space;       ///< the world of the rank that sends it
  std::uint32_t of = 0;    ///< that rank, in its world
  std::uint8_t range = 0;  ///< PMIx's
  std::string infos;       ///< as libpmix packs them
  void fields(auto& a) { a(code, space, of, range, infos); }
  bool operator==(const PmixEvent&) const = default;
};

// ---- agent to launcher ----

/// This host's part of a PMIx collective: all its ranks among the members have come. Answered by PmixShared.
struct PmixCollect {
  static constexpr std::uint8_t kType = 50;
  static constexpr std::uint32_t kMost = kMostShared + (2u << 20);
  std::uint8_t kind = 0;  ///< 0 fence, 1 connect, 2 disconnect, 3 construct a group, 4 destruct it
  std::string members;    ///< as pmix/members.h writes them
  std::string data;       ///< with a fence
  void fields(auto& a) { a(kind, members, data); }
  bool operator==(const PmixCollect&) const = default;
};

/// A rank here asks for what a rank elsewhere has for others. Answered by PmixAnswer.
struct PmixWant {
  static constexpr std::uint8_t kType = 51;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t id = 0;
  std::string space;
  std::uint32_t of = 0;  ///< the rank that has it
  void fields(auto& a) { a(id, space, of); }
  bool operator==(const PmixWant&) const = default;
};

/// The answer to PmixModexAsk.
struct PmixModex {
  static constexpr std::uint8_t kType = 52;
  static constexpr std::uint32_t kMost = kMostShared + kMostNumbers;
  std::uint32_t id = 0;
  std::int32_t status = 0;  ///< PMIx's
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
  std::vector<std::string> keys;    ///< for unpublish, none means all that the rank published
  std::vector<std::string> values;  ///< with publish: one for each key
  bool once = false;                ///< with publish: the first reader removes it
  bool wait = false;                ///< with lookup: answer only when all are there
  void fields(auto& a) { a(rank, id, what, keys, values, once, wait); }
  bool operator==(const PmixNames&) const = default;
};

/// The agent needs dlaunch-pmix. Answered by PmixProgram.
struct PmixProgramAsk {
  static constexpr std::uint8_t kType = 54;
  static constexpr std::uint32_t kMost = kMostNames;
  std::string machine;  ///< uname's
  void fields(auto& a) { a(machine); }
  bool operator==(const PmixProgramAsk&) const = default;
};

/// PMIx is not, or no longer, served on this host, and its ranks need it.
struct PmixFailed {
  static constexpr std::uint8_t kType = 55;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;
  std::string hint;
  void fields(auto& a) { a(why, hint); }
  bool operator==(const PmixFailed&) const = default;
};

}  // namespace dlaunch::wire
