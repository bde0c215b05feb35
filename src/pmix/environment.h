// What a rank of a host that serves PMIx finds in its environment, beside what its program has by itself. PURE.
// docs/mpi.md is the user's side of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::pmix {

/// What all ranks of a host share.
struct Site {
  std::string job;             ///< PMIx's name of the job
  std::uint32_t universe = 0;  ///< slots of the job
  std::uint32_t node = 0;      ///< this host's place among the job's
  std::string host;            ///< its name there
  std::uint16_t port = 0;      ///< of 127.0.0.1, where clients are waited for
  std::string segments;        ///< segments_directory(); empty: Open MPI's own choice
};

/// One of them.
struct Member {
  std::string space;             ///< PMIx's name of its world
  std::uint32_t size = 0;        ///< ranks of its world
  std::uint32_t here = 0;        ///< those of this host
  std::uint32_t rank = 0;        ///< in its world
  std::uint32_t local_rank = 0;  ///< among those of this host
  std::uint32_t node_rank = 0;   ///< among all of the host's, of whatever world
  bool crowded = false;          ///< the host has more ranks than CPUs
  std::string_view command;      ///< as its program was named
};

/// How sure it is that the program is a client of PMIx.
enum class Client : std::uint8_t { maybe, surely, personal };

/// PMIx's name of a world. `job`: that of the first.
std::string world_space(std::string_view job, int world);
/// The job, of a world's name.
std::string job_space(std::string_view space, int world);

/// The name of the server of a host, which clients are told with its address.
std::string server_space(std::string_view job);

/// Where the ranks of a host share memory by files. `space`: the name of the job's key-value space. The launcher knows
/// it, too, so that it is gone where the agent was killed.
std::string segments_directory(std::string_view space, std::uint32_t node);

/// NAME=VALUE. personal: with all that Open MPI's own launcher says of itself.
std::vector<std::string> environment(const Site& site, const Member& member, Client client);

/// Whether the variable is one of these: a rank's own, which is nothing for those that it spawns.
bool is_own(std::string_view name);

}  // namespace dlaunch::pmix
