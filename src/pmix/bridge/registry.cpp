#include "pmix/bridge/registry.h"

#include <pmix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

namespace dlaunch::pmix {

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
