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
#include "pmix/bridge/description.h"
#include "wire/message.h"

namespace dlaunch::pmix {

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
