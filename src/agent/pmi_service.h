// The PMI connections of this host's ranks: a socket pair per rank, served by the pmi::PmiServer of the rank's world.
// Requests about other hosts go through the link. Owned by MpiService; loop and link must outlive this object.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/find_world.h"
#include "link/link.h"
#include "pmi/probe.h"
#include "pmi/server.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

class PmiService {
 public:
  PmiService(asio::io_context& io, link::Link& link);
  ~PmiService();

  void configure(const wire::MpiWorld& world);
  /// Whether ranks of such a program get a connection.
  bool serves(pmi::Family family) const;

  /// Returns false for the sidecar.
  bool in_world(std::uint32_t rank) const { return find_world(worlds_, rank) != nullptr; }

  /// Serves a new connection and returns the rank's end. On failure empty, with errno set.
  sys::Fd connect(std::uint32_t rank, std::uint32_t app);
  /// The rank ended or was never started. Reads the rank's last requests. Returns true if the rank was in MPI.
  bool ended(std::uint32_t rank);

  void shared(const wire::FenceOut& shared);
  void name_answered(const wire::NameAnswer& answer);
  void spawn_answered(const wire::SpawnAnswer& answer);

 private:
  struct Connection;
  struct World {
    std::uint32_t number;
    std::uint32_t first;  // number of its rank 0
    std::uint32_t size;
    pmi::PmiServer server;
  };

  void wait(std::uint32_t rank, Connection& connection);
  /// Returns false if the connection is gone.
  bool read_some(std::uint32_t rank);
  void close(std::uint32_t rank);
  void perform(const World& world, pmi::Actions actions);
  void act(const World& world, const pmi::Send& send);
  void act(const World& world, const pmi::CloseConnection& hang_up);
  void act(const World& world, const pmi::PrintWarning& complain);
  void act(const World& world, pmi::Gather& gather);
  void act(const World& world, pmi::AskName& ask);
  void act(const World& world, pmi::AskSpawn& ask);
  void act(const World& world, const pmi::Abort& abort);

  asio::io_context& io_;
  link::Link& link_;
  bool probe_ = false;
  std::deque<World> worlds_;  // sorted by `first`; a deque, so that addresses stay valid
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;
  std::array<char, 16u << 10> scratch_;
};

}  // namespace dlaunch::agent
