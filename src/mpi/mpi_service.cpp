#include "mpi/mpi_service.h"

#include <sys/socket.h>

#include <algorithm>
#include <asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <string_view>
#include <variant>

#include "agent/environment.h"
#include "base/environment.h"
#include "base/lifetime.h"
#include "dlaunch/worlds.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "wire/mpi.h"

namespace dlaunch::mpi {
namespace {

/// The MPI family of a program; unknown if a preloaded library may bring MPI into the program.
pmi::Family family_of(const std::string& path, const std::vector<std::string>& env) {
  const pmi::Family family = pmi::family_of(sys::read_file(path, pmi::kProbed).value_or(""));
  return family == pmi::Family::none && variable(env, "LD_PRELOAD") ? pmi::Family::unknown : family;
}

constexpr int kLastReads = 64;  // more than a socket buffer; a limit, since descendants may write without end

}  // namespace

std::optional<std::string> MpiService::on(wire::Message& message) {
  return std::visit(
      [this](auto& m) -> std::optional<std::string> {
        if constexpr (!requires { this->on(m); })
          return std::nullopt;
        else {
          on(m);
          return "";
        }
      },
      message);
}

void MpiService::on(const wire::MpiWorld& world) {
  pmi_.configure(world);
  pmix_.configure(world);
  ranks_ = world.size;
}

ServedMpi MpiService::serve(const std::string& path, std::vector<std::string>& env) {
  if (ranks_ == 0) return {};
  const pmi::Family family = family_of(path, env);
  const ServedMpi served{family, pmi_.serves(family), pmix_.serves(family)};
  if (served.pmix && !served.pmi) agent::drop_planned_pmi1(env, ranks_);
  return served;
}

std::vector<std::string> MpiService::environment(const wire::Spawn& spawn, const wire::Program& program,
                                                 const ServedMpi& served) const {
  std::vector<std::string> env = spawn.env;
  if (!served.pmix || !pmix_.in_world(spawn.rank)) return env;
  if (!served.pmi) agent::drop_pmi1(env);
  agent::add_missing(env, program.env, pmix_.environment(spawn, served.family, program.argv.front()));
  return env;
}

tl::expected<sys::Fd, int> MpiService::connect(const wire::Spawn& spawn, const ServedMpi& served) {
  if (!served.pmi || !pmi_.in_world(spawn.rank)) return {};
  sys::Fd theirs = pmi_.connect(spawn.rank, spawn.app);
  if (!theirs) return tl::unexpected(errno);
  return theirs;
}

bool MpiService::ended(std::uint32_t rank) {
  const bool in_pmix = pmix_.ended(rank);
  return pmi_.ended(rank) || in_pmix;
}

struct PmiService::Connection {
  Connection(asio::io_context& io, sys::Fd fd) : socket(io, fd.release()) {}
  asio::posix::stream_descriptor socket;
  const Lifetime lifetime;
};

PmiService::PmiService(asio::io_context& io, link::Link& link) : io_(io), link_(link) {}
PmiService::~PmiService() = default;

void PmiService::configure(const wire::MpiWorld& world) {
  if (!world.pmi1 || (!worlds_.empty() && world.first < worlds_.back().first + worlds_.back().size)) return;
  probe_ = world.probe;
  worlds_.push_back({world.world, world.first, world.size,
                     pmi::PmiServer({world.space, world.size, world.universe, world.mapping, world.here, world.alone,
                                     static_cast<int>(world.world), world.first, world.first_app, world.parent})});
  worlds_.back().server.preload(world.pairs);
}

bool PmiService::serves(pmi::Family family) const {
  if (worlds_.empty() || !probe_) return !worlds_.empty();
  return family == pmi::Family::mpich || family == pmi::Family::unknown;
}

sys::Fd PmiService::connect(std::uint32_t rank, std::uint32_t app) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  sys::Fd theirs(ends[1]);
  auto& connection = connections_[rank];
  connection = std::make_unique<Connection>(io_, sys::Fd(ends[0]));
  find_world(worlds_, rank)->server.join(rank, app);
  wait(rank, *connection);
  return theirs;
}

bool PmiService::ended(std::uint32_t rank) {
  const World* world = find_world(worlds_, rank);
  if (!world) return false;
  for (int reads = 0; reads < kLastReads && read_some(rank); ++reads) {
  }
  const bool in_mpi = world->server.in_mpi(rank);
  close(rank);
  return in_mpi;
}

void PmiService::shared(const wire::FenceOut& shared) {
  const auto world = std::ranges::find(worlds_, shared.world, &World::number);
  if (world != worlds_.end()) perform(*world, world->server.shared(shared.pairs, shared.last, shared.broken));
}

void PmiService::name_answered(const wire::NameAnswer& answer) {
  if (World* world = find_world(worlds_, answer.rank)) {
    perform(*world, world->server.name_answered(answer.rank, answer.ok, answer.port));
  }
}

void PmiService::spawn_answered(const wire::SpawnAnswer& answer) {
  if (World* world = find_world(worlds_, answer.rank)) {
    perform(*world, world->server.spawn_answered(answer.rank, answer.ok, answer.space));
  }
}

void PmiService::wait(std::uint32_t rank, Connection& connection) {
  connection.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                               connection.lifetime.guard([this, rank](asio::error_code error) {
                                 if (error) return;  // closed
                                 read_some(rank);
                                 const auto found = connections_.find(rank);
                                 if (found != connections_.end()) wait(rank, *found->second);
                               }));
}

bool PmiService::read_some(std::uint32_t rank) {
  const auto found = connections_.find(rank);
  if (found == connections_.end()) return false;
  const ssize_t got = ::recv(found->second->socket.native_handle(), scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    close(rank);
    return false;
  }
  World& world = *find_world(worlds_, rank);
  perform(world, world.server.received(rank, std::string_view(scratch_.data(), static_cast<size_t>(got))));
  return true;
}

void PmiService::close(std::uint32_t rank) {
  connections_.erase(rank);
  World& world = *find_world(worlds_, rank);
  perform(world, world.server.gone(rank));
}

void PmiService::perform(const World& world, pmi::Actions actions) {
  for (pmi::Action& action : actions) std::visit([&](auto& a) { act(world, a); }, action);
}

/// A client waits for each answer before its next request, so the socket has space unless the client violates PMI.
void PmiService::act(const World& world, const pmi::Send& send) {
  const auto found = connections_.find(send.rank);
  if (found == connections_.end()) return;
  const int socket = found->second->socket.native_handle();
  const ssize_t sent = ::send(socket, send.bytes.data(), send.bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(send.bytes.size())) return;
  if (sent >= 0 || errno == EAGAIN) {
    act(world,
        pmi::PrintWarning{
            "rank " + Worlds::rank_name({static_cast<int>(world.number), static_cast<int>(send.rank - world.first)}) +
            " does not read PMI answers: further answers are dropped"});
  }
  close(send.rank);
}

void PmiService::act(const World&, const pmi::CloseConnection& hang_up) { connections_.erase(hang_up.rank); }
void PmiService::act(const World&, const pmi::PrintWarning& complain) {
  link_.send(wire::Log{wire::Log::kWarning, complain.text});
}

void PmiService::act(const World& world, pmi::Gather& gather) {
  link_.send(wire::FenceIn{world.number, std::move(gather.pairs), std::move(gather.gone)});
}

void PmiService::act(const World&, pmi::AskName& ask) {
  link_.send(wire::NameAsk{ask.rank, static_cast<std::uint8_t>(ask.op), std::move(ask.service), std::move(ask.port)});
}

void PmiService::act(const World&, pmi::AskSpawn& ask) {
  wire::SpawnAsk message;
  message.rank = ask.rank;
  for (SpawnProgram& program : ask.programs) wire::add(message, std::move(program));
  message.pairs = std::move(ask.pairs);
  link_.send(message);
}

void PmiService::act(const World&, const pmi::Abort& abort) {
  link_.send(wire::MpiAbort{abort.rank, abort.code, sys::wall_ns()});
}

}  // namespace dlaunch::mpi
