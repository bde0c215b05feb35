// The PMI connections of this host's ranks: a socket pair each, served by pmi::Server; what concerns other hosts goes
// through the link. Owned by Ranks; loop and link must outlive it.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/link.h"
#include "pmi/probe.h"
#include "pmi/server.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

class Mpi {
 public:
  Mpi(asio::io_context& io, link::Link& link);
  ~Mpi();

  void configure(const wire::MpiWorld& world, std::uint32_t ranks_here);
  /// Whether ranks of such a program get a connection.
  bool serves(pmi::Family family) const;

  /// False for a process beside the ranks.
  bool in_world(std::uint32_t rank) const { return server_ && rank < size_; }

  /// The end of its connection that the rank inherits; it is served from now on. Empty with errno set.
  sys::Fd connect(std::uint32_t rank, std::uint32_t app);
  /// It ended, or was never started. Takes what it said last. True when it was in MPI.
  bool ended(std::uint32_t rank);

  void shared(const wire::Shared& shared);
  void name_answered(const wire::NameAnswer& answer);

 private:
  struct Connection;

  void wait(std::uint32_t rank, Connection& connection);
  /// False when the connection is gone.
  bool read_some(std::uint32_t rank);
  void close(std::uint32_t rank);
  void perform(pmi::Actions actions);
  void act(const pmi::Send& send);
  void act(const pmi::HangUp& hang_up);
  void act(const pmi::Complain& complain);
  void act(pmi::Gather& gather);
  void act(pmi::AskName& ask);
  void act(const pmi::Abort& abort);

  asio::io_context& io_;
  link::Link& link_;
  std::optional<pmi::Server> server_;
  bool probe_ = false;
  std::uint32_t size_ = 0;  // ranks of the job
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;
  std::array<char, 16u << 10> scratch_{};
};

}  // namespace dlaunch::agent
