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
  std::string space;           ///< PMIx's name of the job
  std::uint32_t size = 0;      ///< ranks of the job
  std::uint32_t universe = 0;  ///< slots of the job
  std::uint32_t here = 0;      ///< ranks of this host
  std::uint32_t node = 0;      ///< this host's place among the job's
  std::string host;            ///< its name there
  std::uint16_t port = 0;      ///< of 127.0.0.1, where clients are waited for
  std::string segments;        ///< segments_directory(); empty: Open MPI's own choice
  bool crowded = false;        ///< more ranks than CPUs
};

/// How sure it is that the program is a client of PMIx.
enum class Client : std::uint8_t { maybe, surely, personal };

/// The name of the server of a host, which clients are told with its address.
std::string server_space(std::string_view space);

/// Where the ranks of a host share memory by files. `space`: the name of the job's key-value space. The launcher knows
/// it, too, so that it is gone where the agent was killed.
std::string segments_directory(std::string_view space, std::uint32_t node);

/// NAME=VALUE. personal: with all that Open MPI's own launcher says of itself. `command`: as the program was named.
std::vector<std::string> environment(const Site& site, std::uint32_t rank, std::uint32_t local_rank, Client client,
                                     std::string_view command);

}  // namespace dlaunch::pmix
