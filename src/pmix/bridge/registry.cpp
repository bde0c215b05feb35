#include "pmix/bridge/registry.h"

#include <pmix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <utility>

namespace dlaunch::pmix {
namespace {

constexpr size_t kMostRanks = 1u << 20;  // limit for a world

/// libpmix 5 numbers the nodes of a world by their index in its map, and treats nodes of one number as one node. Nodes
/// outside of the map follow: this host, if it joined the job after that world.
std::vector<std::uint32_t> node_ids(const Described& it) {
  std::vector<std::uint32_t> ids(std::max<size_t>(it.names.size(), it.start.node + 1), 0);
  for (const std::uint32_t host : it.hosts) ids[host] = 1;
  const auto in_map = static_cast<std::uint32_t>(std::count(ids.begin(), ids.end(), 1));
  std::uint32_t next = 0;
  std::uint32_t behind = in_map;
  for (std::uint32_t& id : ids) id = id == 1 ? next++ : behind++;
  return ids;
}

/// Adds the maps of the hosts with ranks of the world.
bool add_maps(const Described& it, Infos& infos) {
  std::vector<std::string> ranks(it.names.size());
  for (size_t rank = 0; rank < it.hosts.size(); ++rank) {
    std::string& list = ranks[it.hosts[rank]];
    list += (list.empty() ? "" : ",") + std::to_string(rank);
  }
  std::string names;
  std::string lists;
  for (size_t host = 0; host < ranks.size(); ++host) {
    if (ranks[host].empty()) continue;
    names += (names.empty() ? "" : ",") + it.names[host];
    lists += (lists.empty() ? "" : ";") + ranks[host];
  }
  char* nodes = nullptr;
  char* procs = nullptr;
  const bool ok = PMIx_generate_regex(names.c_str(), &nodes) == PMIX_SUCCESS &&
                  PMIx_generate_ppn(lists.c_str(), &procs) == PMIX_SUCCESS;
  if (ok) {
    infos.add_map(PMIX_NODE_MAP, nodes);
    infos.add_map(PMIX_PROC_MAP, procs);
  }
  std::free(nodes);
  std::free(procs);
  return ok;
}

void add_job(const Described& it, std::uint32_t node_id, Infos& infos) {
  std::string peers;
  std::uint32_t here = 0;
  std::uint32_t first = 0;
  for (std::uint32_t rank = 0; rank < it.hosts.size(); ++rank) {
    if (it.hosts[rank] != it.start.node) continue;
    if (here++ == 0) first = rank;
    peers += (peers.empty() ? "" : ",") + std::to_string(rank);
  }
  infos.add(PMIX_JOBID, it.world.space);
  infos.add(PMIX_UNIV_SIZE, it.world.universe);
  infos.add(PMIX_MAX_PROCS, it.world.universe);
  infos.add(PMIX_JOB_SIZE, static_cast<std::uint32_t>(it.hosts.size()));
  infos.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(it.world.of_program.size()));
  infos.add(PMIX_NODEID, node_id);
  infos.add(PMIX_NODE_SIZE, here + it.earlier[it.start.node]);
  if (here > 0) {
    infos.add(PMIX_LOCAL_SIZE, here);
    infos.add(PMIX_LOCAL_PEERS, peers);
    infos.add_rank(PMIX_LOCALLDR, first);
  }
  infos.add(PMIX_TMPDIR, it.start.directory);
  infos.add(PMIX_NSDIR, it.directory);
  infos.add_flag(PMIX_TDIR_RMCLEAN, true);
  infos.add_flag(PMIX_NODE_OVERSUBSCRIBED, it.start.crowded);
  if (it.world.parent.empty()) return;
  infos.add_flag(PMIX_SPAWNED, true);
  infos.add_process(PMIX_PARENT_ID, it.world.parent, it.world.parent_rank);
}

void add_ranks(const Described& it, const std::vector<std::uint32_t>& ids, Infos& infos) {
  std::vector<std::uint16_t> on_host(it.names.size());
  std::uint32_t program = 0;
  std::uint32_t in_program = 0;
  for (std::uint32_t rank = 0; rank < it.hosts.size(); ++rank, ++in_program) {
    while (program < it.world.of_program.size() && in_program == it.world.of_program[program]) {
      ++program;
      in_program = 0;
    }
    const std::uint32_t host = it.hosts[rank];
    const std::uint16_t local = on_host[host]++;
    Infos one;
    one.add_rank(PMIX_RANK, rank);
    one.add_short(PMIX_LOCAL_RANK, local);
    one.add_short(PMIX_NODE_RANK, static_cast<std::uint16_t>(it.earlier[host] + local));
    one.add(PMIX_NODEID, ids[host]);
    one.add(PMIX_HOSTNAME, it.names[host]);
    one.add(PMIX_APPNUM, program);
    one.add_rank(PMIX_APP_RANK, in_program);
    one.add_rank(PMIX_GLOBAL_RANK, it.world.first + rank);
    if (host == it.start.node) one.add(PMIX_PROCDIR, it.directory + '/' + std::to_string(rank));
    infos.add(PMIX_PROC_INFO_ARRAY, one);
  }
}

}  // namespace

Infos::~Infos() {
  for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
}

void Infos::load(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t& info = infos_.emplace_back();
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, key, const_cast<void*>(value), type);
}

void Infos::add(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }
void Infos::add_map(const char* key, const char* map) { load(key, map, PMIX_REGEX); }
void Infos::add(const char* key, std::uint32_t number) { load(key, &number, PMIX_UINT32); }
void Infos::add_short(const char* key, std::uint16_t number) { load(key, &number, PMIX_UINT16); }
void Infos::add_rank(const char* key, pmix_rank_t rank) { load(key, &rank, PMIX_PROC_RANK); }
void Infos::add_flag(const char* key, bool flag) { load(key, &flag, PMIX_BOOL); }

void Infos::add_process(const char* key, const std::string& space, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, space.c_str(), rank);
  load(key, &process, PMIX_PROC);
}

void Infos::add_size(const char* key, size_t number) { load(key, &number, PMIX_SIZE); }

void Infos::add_bytes(const char* key, std::string& bytes) {
  const pmix_byte_object_t object{bytes.data(), bytes.size()};
  load(key, &object, PMIX_BYTE_OBJECT);
}

void Infos::add_processes(const char* key, std::vector<pmix_proc_t>& processes) {
  const pmix_data_array_t array{PMIX_PROC, processes.size(), processes.data()};
  load(key, &array, PMIX_DATA_ARRAY);
}

/// Built by hand: versions of libpmix differ in the copying of a loaded array.
void Infos::add(const char* key, const Infos& array) {
  pmix_info_t& info = infos_.emplace_back();
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_LOAD_KEY(info.key, key);
  info.value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info.value.data.darray, array.size(), PMIX_INFO);
  auto* copies = static_cast<pmix_info_t*>(info.value.data.darray->array);
  for (size_t i = 0; i < array.size(); ++i) PMIX_INFO_XFER(&copies[i], &array.infos_[i]);
}

std::vector<std::uint32_t> hosts_of_ranks(const wire::PmixWorld& world, size_t hosts) {
  std::vector<std::uint32_t> of_ranks;
  for (size_t i = 0; i + 1 < world.placed.size(); i += 2) {
    if (world.placed[i] >= hosts || world.placed[i + 1] > kMostRanks - of_ranks.size()) return {};
    of_ranks.insert(of_ranks.end(), world.placed[i + 1], world.placed[i]);
  }
  return of_ranks;
}

bool describe(const Described& described, Infos& infos) {
  if (!add_maps(described, infos)) return false;
  const std::vector<std::uint32_t> ids = node_ids(described);
  add_job(described, ids[described.start.node], infos);
  add_ranks(described, ids, infos);
  return true;
}

struct Registry::World {
  Registry& registry;
  std::string space;
  std::uint32_t first;
  std::uint32_t size;
  std::vector<std::uint32_t> here;  // ids of its ranks here; libpmix keeps and returns a pointer to each
  std::unique_ptr<Infos> infos;     // libpmix reads them until it reports the end of the registration
  size_t registered = 0;
  bool known = false;
};

Registry::Registry(asio::io_context& io, wire::PmixStart start, Ready ready)
    : io_(io), start_(std::move(start)), ready_(std::move(ready)) {}

Registry::~Registry() = default;

void Registry::add(const wire::PmixWorld& message) {
  if (worlds_.contains(message.space)) return;
  names_.insert(names_.end(), message.hosts.begin(), message.hosts.end());
  on_host_.resize(std::max<size_t>(names_.size(), start_.node + 1));
  const auto hosts = hosts_of_ranks(message, names_.size());
  auto& world =
      *worlds_
           .emplace(message.space,
                    std::make_unique<World>(
                        World{*this, message.space, message.first, static_cast<std::uint32_t>(hosts.size()), {}, {}}))
           .first->second;
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == start_.node) world.here.push_back(world.first + rank);
  }
  world.infos = std::make_unique<Infos>();
  const std::string directory = start_.directory + '/' + world.space;
  ::mkdir(directory.c_str(), S_IRWXU);  // libpmix reports a failure
  if (hosts.empty() || !describe({start_, message, names_, hosts, on_host_, directory}, *world.infos)) {
    return fail(PMIX_ERR_BAD_PARAM);
  }
  for (const std::uint32_t host : hosts) ++on_host_[host];
  const pmix_status_t status =
      PMIx_server_register_nspace(world.space.c_str(), static_cast<int>(world.here.size()), world.infos->data(),
                                  world.infos->size(), space_registered, &world);
  if (status == PMIX_OPERATION_SUCCEEDED) return register_clients(world);
  if (status != PMIX_SUCCESS) fail(status);
}

void Registry::space_registered(pmix_status_t status, void* data) {
  auto* world = static_cast<World*>(data);
  asio::post(world->registry.io_, [world, status] {
    status == PMIX_SUCCESS ? world->registry.register_clients(*world) : world->registry.fail(status);
  });
}

void Registry::register_clients(World& world) {
  world.infos.reset();
  if (world.here.empty()) return registered(world, PMIX_SUCCESS);
  for (std::uint32_t& id : world.here) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, world.space.c_str(), id - world.first);
    const pmix_status_t status =
        PMIx_server_register_client(&process, ::getuid(), ::getgid(), &id, client_registered, &world);
    if (status != PMIX_SUCCESS) registered(world, status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
  }
}

void Registry::client_registered(pmix_status_t status, void* data) {
  auto* world = static_cast<World*>(data);
  asio::post(world->registry.io_, [world, status] { world->registry.registered(*world, status); });
}

void Registry::registered(World& world, pmix_status_t status) {
  if (status != PMIX_SUCCESS) return fail(status);
  if (++world.registered < world.here.size()) return;
  world.known = true;
  ready_({});
}

void Registry::fail(pmix_status_t status) {
  ready_(dlaunch::fail({"", "cannot register the job's ranks with libpmix", PMIx_Error_string(status), ""}));
}

bool Registry::knows(std::string_view space) const {
  const auto found = worlds_.find(space);
  return found != worlds_.end() && found->second->known;
}

std::optional<std::uint32_t> Registry::id_of(const pmix_proc_t& process) const {
  const auto found = worlds_.find(std::string_view(process.nspace));
  if (found == worlds_.end() || process.rank >= found->second->size) return std::nullopt;
  return found->second->first + process.rank;
}

std::optional<std::uint32_t> Registry::id_of(const void* server_object) {
  if (!server_object) return std::nullopt;
  return *static_cast<const std::uint32_t*>(server_object);
}

}  // namespace dlaunch::pmix
