// The PMIx description of the job: an array of keys and values for PMIx_server_register_nspace.
#pragma once

#include <pmix_server.h>

#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch::pmix {

/// Keys with values of libpmix's types; libpmix copies them.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos();

  void add(const char* key, const std::string& text);
  /// `map` is made by libpmix and may contain a NUL.
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

/// The host of each rank; empty: the world is malformed.
std::vector<std::uint32_t> hosts_of_ranks(const wire::PmixWorld& world, size_t hosts);

/// A world for the description, with the worlds before it.
struct Described {
  const wire::PmixStart& start;
  const wire::PmixWorld& world;
  const std::vector<std::string>& names;      ///< hosts of the job
  const std::vector<std::uint32_t>& hosts;    ///< hosts_of_ranks()
  const std::vector<std::uint16_t>& earlier;  ///< number of ranks of other worlds on each host
  std::string directory;                      ///< directory for files of the world's ranks
};

/// Returns false if libpmix cannot make a map of the world.
bool describe(const Described& described, Infos& infos);

}  // namespace dlaunch::pmix
