// The variables that a rank gets on a host that serves PMIx, in addition to its program's. PURE. docs/mpi.md is the
// user's side.
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
  std::uint32_t node = 0;      ///< this host's number within the job
  std::string host;            ///< its name in PMIx
  std::uint16_t port = 0;      ///< where clients connect, on 127.0.0.1
  std::string segments;        ///< segments_directory(); empty: Open MPI's own choice
};

/// One rank of the host.
struct Member {
  std::string space;             ///< PMIx's name of its world
  std::uint32_t size = 0;        ///< ranks of its world
  std::uint32_t here = 0;        ///< those of this host
  std::uint32_t rank = 0;        ///< in its world
  std::uint32_t local_rank = 0;  ///< among the ranks of its world on this host
  std::uint32_t node_rank = 0;   ///< among all ranks on this host, of any world
  bool crowded = false;          ///< the host has more ranks than CPUs
  std::string_view command;      ///< the program as it was named
};

/// How certain it is that the program is a client of PMIx.
enum class Client : std::uint8_t { maybe, surely, personal };

/// PMIx's name of a world. `job` is that of the first.
std::string world_space(std::string_view job, int world);
/// The job's name, from a world's name.
std::string job_space(std::string_view space, int world);

/// The name of a host's server, which clients are told with its address.
std::string server_space(std::string_view job);

/// The directory where the ranks of a host share memory by files. `space` is the name of the job's key-value space. The
/// launcher removes the directory where the agent was killed.
std::string segments_directory(std::string_view space, std::uint32_t node);

/// NAME=VALUE. `personal` adds all that Open MPI's own launcher tells a rank.
std::vector<std::string> environment(const Site& site, const Member& member, Client client);

/// Whether the variable is one of these, which are a rank's own and not for those that it spawns.
bool is_own(std::string_view name);

}  // namespace dlaunch::pmix
