#include "agent/mpi.h"

#include <sys/socket.h>

#include <asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <string_view>
#include <utility>
#include <variant>

#include "sys/clock.h"

namespace dlaunch::agent {
namespace {

constexpr std::uint8_t kWarning = 2;  // of wire::Log

}  // namespace

struct Mpi::Connection {
  Connection(asio::io_context& io, sys::Fd fd) : socket(io, fd.release()) {}
  asio::posix::stream_descriptor socket;
};

Mpi::Mpi(asio::io_context& io, link::Link& link) : io_(io), link_(link) {}
Mpi::~Mpi() = default;

void Mpi::configure(const wire::MpiWorld& world, std::uint32_t ranks_here) {
  if (server_ || !world.pmi1) return;
  probe_ = world.probe;
  size_ = world.size;
  server_.emplace(pmi::World{world.space, world.size, world.universe, world.mapping, ranks_here, world.alone});
}

bool Mpi::serves(pmi::Family family) const {
  if (!server_ || !probe_) return server_.has_value();
  return family == pmi::Family::mpich || family == pmi::Family::unknown;
}

sys::Fd Mpi::connect(std::uint32_t rank, std::uint32_t app) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  sys::Fd theirs(ends[1]);
  auto& connection = connections_[rank];
  connection = std::make_unique<Connection>(io_, sys::Fd(ends[0]));
  server_->join(rank, app);
  wait(rank, *connection);
  return theirs;
}

bool Mpi::ended(std::uint32_t rank) {
  if (!in_world(rank)) return false;
  while (read_some(rank)) {
  }
  const bool in_mpi = server_->in_mpi(rank);
  close(rank);
  return in_mpi;
}

void Mpi::shared(const wire::Shared& shared) {
  if (server_) perform(server_->shared(shared.pairs, shared.last, shared.broken));
}

void Mpi::name_answered(const wire::NameAnswer& answer) {
  if (server_) perform(server_->name_answered(answer.rank, answer.ok, answer.port));
}

void Mpi::wait(std::uint32_t rank, Connection& connection) {
  connection.socket.async_wait(asio::posix::stream_descriptor::wait_read, [this, rank](asio::error_code error) {
    if (error) return;  // closed
    read_some(rank);
    const auto found = connections_.find(rank);
    if (found != connections_.end()) wait(rank, *found->second);
  });
}

bool Mpi::read_some(std::uint32_t rank) {
  const auto found = connections_.find(rank);
  if (found == connections_.end()) return false;
  const ssize_t got = ::recv(found->second->socket.native_handle(), scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    close(rank);
    return false;
  }
  perform(server_->received(rank, std::string_view(scratch_.data(), static_cast<size_t>(got))));
  return true;
}

void Mpi::close(std::uint32_t rank) {
  connections_.erase(rank);
  perform(server_->gone(rank));
}

void Mpi::perform(pmi::Actions actions) {
  for (pmi::Action& action : actions) std::visit([this](auto& a) { act(a); }, action);
}

/// A client waits for each answer before it asks on, so the socket always has room, unless it breaks PMI.
void Mpi::act(const pmi::Send& send) {
  const auto found = connections_.find(send.rank);
  if (found == connections_.end()) return;
  const int socket = found->second->socket.native_handle();
  const ssize_t sent = ::send(socket, send.bytes.data(), send.bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(send.bytes.size())) return;
  if (sent >= 0 || errno == EAGAIN) {
    act(pmi::Complain{"rank " + std::to_string(send.rank) + " does not read MPI's answers; it gets no more of them"});
  }
  close(send.rank);
}

void Mpi::act(const pmi::HangUp& hang_up) { connections_.erase(hang_up.rank); }
void Mpi::act(const pmi::Complain& complain) { link_.send(wire::Log{kWarning, complain.text}); }
void Mpi::act(pmi::Gather& gather) { link_.send(wire::Fence{std::move(gather.pairs), std::move(gather.gone)}); }

void Mpi::act(pmi::AskName& ask) {
  link_.send(wire::NameAsk{ask.rank, static_cast<std::uint8_t>(ask.op), std::move(ask.service), std::move(ask.port)});
}

void Mpi::act(const pmi::Abort& abort) { link_.send(wire::Aborted{abort.rank, abort.code, sys::wall_ns()}); }

}  // namespace dlaunch::agent
