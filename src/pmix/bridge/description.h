// The job as PMIx describes it: one array of keys and values for PMIx_server_register_nspace.
#pragma once

#include <pmix_server.h>

#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch::pmix {

/// Keys with values of libpmix's types, which libpmix copies.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos();

  void add(const char* key, const std::string& text);
  /// `map` is made by libpmix and may hold a NUL.
  void add_map(const char* key, const char* map);
  void add(const char* key, std::uint32_t number);
  void add_short(const char* key, std::uint16_t number);
  void add_rank(const char* key, pmix_rank_t rank);
  void add_flag(const char* key, bool flag);
  void add_process(const char* key, const std::string& space, pmix_rank_t rank);
  void add(const char* key, const Infos& array);
  void add_size(const char* key, size_t number);
  void add_bytes(const char* key, std::string& bytes);
  void add_processes(const char* key, std::vector<pmix_proc_t>& processes);

  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type);
  std::vector<pmix_info_t> infos_;
};

/// The host of each rank; empty when no launcher describes such a world.
std::vector<std::uint32_t> hosts_of_ranks(const wire::PmixWorld& world, size_t hosts);

/// A world to be described, with the worlds before it.
struct Described {
  const wire::PmixStart& start;
  const wire::PmixWorld& world;
  const std::vector<std::string>& names;      ///< of the job's hosts
  const std::vector<std::uint32_t>& hosts;    ///< hosts_of_ranks()
  const std::vector<std::uint16_t>& earlier;  ///< how many ranks of other worlds are on each host
  std::string directory;                      ///< directory for the files of the world's ranks
};

/// False when libpmix can make no map of the world.
bool describe(const Described& described, Infos& infos);

}  // namespace dlaunch::pmix
