#include "pmix/bridge/description.h"

#include <pmix.h>

#include <cstdlib>
#include <cstring>

namespace dlaunch::pmix {
namespace {

void add_maps(const wire::PmixMap& map, const std::vector<std::uint32_t>& hosts, Infos& infos, bool& ok) {
  std::string names;
  for (const std::string& name : map.hosts) names += (names.empty() ? "" : ",") + name;
  std::vector<std::string> ranks(map.hosts.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    std::string& list = ranks[hosts[rank]];
    list += (list.empty() ? "" : ",") + std::to_string(rank);
  }
  std::string lists;
  for (size_t host = 0; host < ranks.size(); ++host) lists += (host == 0 ? "" : ";") + ranks[host];
  char* nodes = nullptr;
  char* procs = nullptr;
  ok = PMIx_generate_regex(names.c_str(), &nodes) == PMIX_SUCCESS &&
       PMIx_generate_ppn(lists.c_str(), &procs) == PMIX_SUCCESS;
  if (ok) {
    infos.add_map(PMIX_NODE_MAP, nodes);
    infos.add_map(PMIX_PROC_MAP, procs);
  }
  std::free(nodes);
  std::free(procs);
}

void add_job(const wire::PmixStart& start, const std::vector<std::uint32_t>& hosts, Infos& infos) {
  const wire::MpiWorld& world = start.world;
  std::string peers;
  std::uint32_t here = 0;
  std::uint32_t first = 0;
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != world.node) continue;
    if (here++ == 0) first = rank;
    peers += (peers.empty() ? "" : ",") + std::to_string(rank);
  }
  infos.add(PMIX_JOBID, world.pmix_space);
  infos.add(PMIX_UNIV_SIZE, world.universe);
  infos.add(PMIX_MAX_PROCS, world.universe);
  infos.add(PMIX_JOB_SIZE, world.size);
  infos.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(start.map.of_program.size()));
  infos.add(PMIX_NODEID, world.node);
  infos.add(PMIX_NODE_SIZE, here);
  infos.add(PMIX_LOCAL_SIZE, here);
  infos.add(PMIX_LOCAL_PEERS, peers);
  infos.add_rank(PMIX_LOCALLDR, first);
  infos.add(PMIX_TMPDIR, start.directory);
  infos.add(PMIX_NSDIR, start.directory + "/job");
  infos.add_flag(PMIX_TDIR_RMCLEAN, true);
  infos.add_flag(PMIX_NODE_OVERSUBSCRIBED, start.crowded);
}

void add_ranks(const wire::PmixStart& start, const std::vector<std::uint32_t>& hosts, Infos& infos) {
  std::vector<std::uint16_t> on_host(start.map.hosts.size());
  std::uint32_t program = 0;
  std::uint32_t in_program = 0;
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank, ++in_program) {
    while (program < start.map.of_program.size() && in_program == start.map.of_program[program]) {
      ++program;
      in_program = 0;
    }
    const std::uint16_t local = on_host[hosts[rank]]++;
    Infos one;
    one.add_rank(PMIX_RANK, rank);
    one.add_short(PMIX_LOCAL_RANK, local);
    one.add_short(PMIX_NODE_RANK, local);
    one.add(PMIX_NODEID, hosts[rank]);
    one.add(PMIX_HOSTNAME, start.map.hosts[hosts[rank]]);
    one.add(PMIX_APPNUM, program);
    one.add_rank(PMIX_APP_RANK, in_program);
    one.add_rank(PMIX_GLOBAL_RANK, rank);
    if (hosts[rank] == start.world.node) one.add(PMIX_PROCDIR, start.directory + "/job/" + std::to_string(rank));
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

void Infos::add_size(const char* key, size_t number) { load(key, &number, PMIX_SIZE); }

void Infos::add_bytes(const char* key, std::string& bytes) {
  const pmix_byte_object_t object{bytes.data(), bytes.size()};
  load(key, &object, PMIX_BYTE_OBJECT);
}

void Infos::add_processes(const char* key, std::vector<pmix_proc_t>& processes) {
  const pmix_data_array_t array{PMIX_PROC, processes.size(), processes.data()};
  load(key, &array, PMIX_DATA_ARRAY);
}

/// By hand: versions of libpmix differ in whether they copy an array that is loaded.
void Infos::add(const char* key, const Infos& array) {
  pmix_info_t& info = infos_.emplace_back();
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_LOAD_KEY(info.key, key);
  info.value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info.value.data.darray, array.size(), PMIX_INFO);
  auto* copies = static_cast<pmix_info_t*>(info.value.data.darray->array);
  for (size_t i = 0; i < array.size(); ++i) PMIX_INFO_XFER(&copies[i], &array.infos_[i]);
}

std::vector<std::uint32_t> hosts_of_ranks(const wire::PmixStart& start) {
  const std::vector<std::uint32_t>& placed = start.map.placed;
  const std::uint32_t size = start.world.size;
  std::vector<std::uint32_t> hosts;
  for (size_t i = 0; i + 1 < placed.size(); i += 2) {
    if (placed[i] >= start.map.hosts.size() || placed[i + 1] > size - hosts.size()) return {};
    hosts.insert(hosts.end(), placed[i + 1], placed[i]);
  }
  return hosts.size() == size ? hosts : std::vector<std::uint32_t>{};
}

bool describe(const wire::PmixStart& start, Infos& infos) {
  const std::vector<std::uint32_t> hosts = hosts_of_ranks(start);
  bool ok = false;
  if (!hosts.empty()) add_maps(start.map, hosts, infos, ok);
  if (!ok) return false;
  add_job(start, hosts, infos);
  add_ranks(start, hosts, infos);
  return true;
}

}  // namespace dlaunch::pmix
