// The worlds of libpmix's server: each world is registered, with its ranks on this host, before its clients may
// connect. Owned by the PmixServer. Loop and server must outlive the registry, which must exist while libpmix makes
// calls.
#pragma once

#include <pmix_server.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "wire/message.h"

namespace dlaunch::pmix {

// The PMIx description of the job: an array of keys and values for PMIx_server_register_nspace.

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

/// The input of describe(): a world, and the number of ranks of the earlier worlds on each host.
struct Described {
  const wire::PmixStart& start;
  const wire::PmixWorld& world;
  const std::vector<std::string>& names;      ///< hosts of the job
  const std::vector<std::uint32_t>& hosts;    ///< hosts_of_ranks()
  const std::vector<std::uint16_t>& earlier;  ///< number of ranks of earlier worlds on each host
  std::string directory;                      ///< directory for files of the world's ranks
};

/// Returns false if libpmix cannot make a map of the world.
bool describe(const Described& described, Infos& infos);

class Registry {
 public:
  /// Another world is known; an Error has the reason why a world can never be known.
  using Ready = std::function<void(Result<void>)>;
  Registry(asio::io_context& io, wire::PmixStart start, Ready ready);
  ~Registry();

  void add(const wire::PmixWorld& world);

  /// Returns true if clients of that world may connect.
  bool knows(std::string_view space) const;
  /// The id of the rank in the job; nullopt: unknown.
  std::optional<std::uint32_t> id_of(const pmix_proc_t& process) const;
  /// Like id(), for a client on whose behalf libpmix makes a call. For any thread.
  static std::optional<std::uint32_t> id_of(const void* server_object);

 private:
  struct World;
  static void space_registered(pmix_status_t status, void* data);
  static void client_registered(pmix_status_t status, void* data);
  void register_clients(World& world);
  void registered(World& world, pmix_status_t status);
  void fail(pmix_status_t status);

  asio::io_context& io_;
  const wire::PmixStart start_;
  Ready ready_;
  std::vector<std::string> names_;      // names of the job's hosts
  std::vector<std::uint16_t> on_host_;  // ranks of all worlds, per host
  std::map<std::string, std::unique_ptr<World>, std::less<>> worlds_;
};

}  // namespace dlaunch::pmix
