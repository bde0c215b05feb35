// The additional variables of a rank on a host with PMIx. PURE. docs/mpi.md is the page for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::pmix {

/// The common values of the ranks of a host.
struct Site {
  std::string job;             ///< PMIx name of the job
  std::uint32_t universe = 0;  ///< slots of the job
  std::uint32_t node = 0;      ///< number of this host in the job
  std::string host;            ///< PMIx name of this host
  std::uint16_t port = 0;      ///< address for clients, on 127.0.0.1
  std::string segments;        ///< segments_directory(); empty: chosen by Open MPI
};

/// One rank of the host.
struct Member {
  std::string space;             ///< PMIx name of its world
  std::uint32_t size = 0;        ///< ranks of its world
  std::uint32_t here = 0;        ///< ranks of its world on this host
  std::uint32_t rank = 0;        ///< number in its world
  std::uint32_t local_rank = 0;  ///< number among its world's ranks on this host
  std::uint32_t node_rank = 0;   ///< number among all ranks on this host, of any world
  bool crowded = false;          ///< the host has more ranks than CPUs
  std::string_view command;      ///< the program, as named by the user
};

/// The certainty that the program is a client of PMIx.
enum class Client : std::uint8_t { maybe, surely, personal };

/// The PMIx name of a world. `job` is the name of the first world.
std::string world_space(std::string_view job, int world);
/// The name of the job in the name of a world.
std::string job_space(std::string_view space, int world);

/// The name of a host's server, which clients get with its address.
std::string server_space(std::string_view job);

/// The directory for shared memory files of a host's ranks. `space` is the name of the job's key-value space. If a
/// host is lost, the launcher removes the directory if it is on the launcher's machine.
std::string segments_directory(std::string_view space, std::uint32_t node);

/// NAME=VALUE. `personal` adds all variables of Open MPI's own launcher.
std::vector<std::string> environment(const Site& site, const Member& member, Client client);

/// Returns true for a variable of a single rank, which spawned ranks must not inherit.
bool is_own(std::string_view name);

// The first bytes of a PMIx client: the number of following bytes, which contain the name of its world. PURE.

inline constexpr size_t kMostGreeting = 16u << 10;  ///< limit of bytes before the end of the name

struct Greeting {
  enum class Is { unfinished, nonsense, whole };
  Is is = Is::unfinished;
  std::string_view world;  ///< with `whole`: a name that starts with that of the job
};

/// `said` has all bytes of the client; `job` is the name of the job, with which the names of its worlds start.
Greeting read_greeting(std::string_view said, std::string_view job);

}  // namespace dlaunch::pmix
