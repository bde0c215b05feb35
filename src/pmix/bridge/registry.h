// The worlds that libpmix's server knows: each is told to it with those of its ranks that run here, before a client of
// it may come. Owned by the PmixServer; loop and server must outlive it, and it lives as long as libpmix calls.
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
  /// Another world is known, or why one never will be.
  using Ready = std::function<void(Result<void>)>;
  Registry(asio::io_context& io, wire::PmixStart start, Ready ready);
  ~Registry();

  void add(const wire::PmixWorld& world);

  /// Clients of that world may come.
  bool knows(std::string_view space) const;
  /// The number that the job has for the rank; nullopt when there is none.
  std::optional<std::uint32_t> id_of(const pmix_proc_t& process) const;
  /// The same, of a client that libpmix calls for. From any thread.
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
  std::vector<std::string> names_;      // of the job's hosts
  std::vector<std::uint16_t> on_host_;  // ranks of all worlds
  std::map<std::string, std::unique_ptr<World>, std::less<>> worlds_;
};

}  // namespace dlaunch::pmix
