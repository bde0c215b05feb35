#include "pmix/environment.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace dlaunch::pmix {
namespace {

class List {
 public:
  void set(std::string_view name, std::string_view value) {
    std::string entry(name);
    entry.append("=").append(value);
    entries_.push_back(std::move(entry));
  }
  void set(std::string_view name, std::uint32_t value) { set(name, std::to_string(value)); }
  std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
};

/// As in PMIx_server_setup_fork of libpmix, without the variables that clients do not need.
void add_server(List& list, const Site& site) {
  const std::string uri =
      server_space(site.job) + '.' + std::to_string(site.node) + ";tcp4://127.0.0.1:" + std::to_string(site.port);
  for (const char* version : {"41", "4", "3", "21", "2"}) list.set(std::string("PMIX_SERVER_URI") + version, uri);
  list.set("PMIX_GDS_MODULE", "hash");
  list.set("PMIX_SECURITY_MODE", "native");
  list.set("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC");
  list.set("PMIX_HOSTNAME", site.host);
}

/// Variables that Open MPI reads from the environment of its launcher, and not through PMIx.
void add_open_mpi(List& list, const Site& site, bool crowded) {
  list.set("JSM_JSRUN_PORT", "1");  // without it Open MPI 4.1 runs as a singleton
  if (!site.segments.empty()) {
    list.set("OMPI_MCA_btl_vader_backing_directory", site.segments);
    list.set("OMPI_MCA_btl_sm_backing_directory", site.segments);
  }
  if (crowded) list.set("OMPI_MCA_mpi_oversubscribe", "1");
}

}  // namespace

std::string world_space(std::string_view job, int world) {
  return world == 1 ? std::string(job) : std::string(job) + '-' + std::to_string(world);
}

std::string job_space(std::string_view space, int world) {
  return std::string(space.substr(0, space.size() - world_space({}, world).size()));
}

std::string server_space(std::string_view job) { return std::string(job) + "-host"; }

std::string segments_directory(std::string_view space, std::uint32_t node) {
  return "/dev/shm/dlaunch-" + std::string(space) + '-' + std::to_string(node);
}

std::vector<std::string> environment(const Site& site, const Member& member, Client client) {
  List list;
  list.set("PMIX_NAMESPACE", member.space);
  list.set("PMIX_RANK", member.rank);
  add_server(list, site);
  add_open_mpi(list, site, member.crowded);
  if (client == Client::maybe) {
    list.set("MPIR_CVAR_PMI_VERSION", "1");  // MPICH 5 exits if it finds both PMI-1 and PMIx without a choice
    return list.take();
  }
  list.set("OMPI_COMM_WORLD_RANK", member.rank);
  list.set("OMPI_COMM_WORLD_SIZE", member.size);
  list.set("OMPI_COMM_WORLD_LOCAL_RANK", member.local_rank);
  list.set("OMPI_COMM_WORLD_LOCAL_SIZE", member.here);
  list.set("OMPI_COMM_WORLD_NODE_RANK", member.node_rank);
  list.set("OMPI_UNIVERSE_SIZE", site.universe);
  if (client == Client::personal) list.set("OMPI_COMMAND", member.command);
  return list.take();
}

bool is_own(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"JSM_JSRUN_PORT",
                                                      "OMPI_MCA_btl_vader_backing_directory",
                                                      "OMPI_MCA_btl_sm_backing_directory",
                                                      "OMPI_MCA_mpi_oversubscribe",
                                                      "OMPI_UNIVERSE_SIZE",
                                                      "OMPI_COMMAND"};
  return name.starts_with("PMIX_") || name.starts_with("OMPI_COMM_WORLD_") ||
         std::ranges::find(kNames, name) != kNames.end();
}

namespace {

/// A greeting starts with two 32-bit numbers and one 64-bit number, the size of the text after it, in host byte order.
bool is_whole(std::string_view greeting) {
  constexpr size_t kLength = 8;
  constexpr size_t kHeader = 16;
  std::uint64_t follow = 0;
  if (greeting.size() < kHeader) return false;
  std::memcpy(&follow, greeting.data() + kLength, sizeof follow);
  return greeting.size() - kHeader >= follow;
}

}  // namespace

/// A name ends with a NUL.
Greeting read_greeting(std::string_view said, std::string_view job) {
  const size_t begin = said.find(job);
  const size_t end = begin == said.npos ? begin : said.find('\0', begin);
  if (end != said.npos && is_whole(said)) return {Greeting::Is::whole, said.substr(begin, end - begin)};
  return {said.size() > kMostGreeting ? Greeting::Is::nonsense : Greeting::Is::unfinished, {}};
}

}  // namespace dlaunch::pmix
