// MPI on this host: chooses PMI or PMIx for each program, prepares the environment and connection of its ranks, and
// forwards MPI requests to the launcher. Owned by the Agent; the class Ranks calls the first part. Link, loop and files
// must outlive this object.
#pragma once

#include <sys/types.h>

#include <array>
#include <asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "agent/job_directory.h"
#include "agent/task.h"
#include "link/link.h"
#include "mpi/pmix_service.h"
#include "pmi/probe.h"
#include "pmi/server.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::mpi {

/// The PMI connections of this host's ranks: a socket pair per rank, served by the pmi::PmiServer of the rank's world.
/// Requests about other hosts go through the link. Owned by MpiService; loop and link must outlive this object.
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

/// The MPI protocols served to a program's ranks.
struct ServedMpi {
  pmi::Family family = pmi::Family::unknown;
  bool pmi = false;   ///< ranks get a PMI connection
  bool pmix = false;  ///< ranks get the PMIx variables
};

class MpiService final : public agent::Task {
 public:
  MpiService(asio::io_context& io, link::Link& link, agent::Children& children, agent::JobDirectory& files)
      : pmi_(io, link), pmix_(io, link, children, files) {}

  // ---- for Ranks ----
  /// For the program at `path`. Removes from `env` the variables of an MPI that is not served to its ranks.
  ServedMpi serve(const std::string& path, std::vector<std::string>& env);
  /// The rank's own environment. Variables of the user or of the plan stay.
  std::vector<std::string> environment(const wire::Spawn& spawn, const wire::Program& program,
                                       const ServedMpi& served) const;
  /// Serves a new connection and returns the rank's end. Empty if the rank has no connection; on failure errno.
  tl::expected<sys::Fd, int> connect(const wire::Spawn& spawn, const ServedMpi& served);
  /// The rank runs without a connection and never reaches a fence.
  void not_connected(std::uint32_t rank) { pmi_.ended(rank); }
  /// The rank ended or was never started. Returns true if the rank was in MPI.
  bool ended(std::uint32_t rank);
  /// Calls `then` at once, or, if a program surely needs PMIx, as soon as PMIx works or has failed.
  void once_settled(std::function<void()> then) { pmix_.once_settled(std::move(then)); }

  /// The ranks are signalled: from now on, waits for PMIx end at once.
  void settle() { pmix_.settle(); }

  // ---- for the Agent ----
  std::optional<std::string> on(wire::Message& message) override;
  /// From now on, the end of a process is not a failure.
  void stop() override { pmix_.stop(); }

 private:
  void on(const wire::MpiWorld& world);
  void on(const wire::FenceOut& shared) { pmi_.shared(shared); }
  void on(const wire::NameAnswer& answer) { pmi_.name_answered(answer); }
  void on(const wire::SpawnAnswer& answer) { pmi_.spawn_answered(answer); }
  void on(const wire::PmixProgram& program) { pmix_.program(program); }
  void on(wire::PmixShared& shared) { pmix_.pass_on(std::move(shared)); }
  void on(wire::PmixModexAsk& asked) { pmix_.pass_on(std::move(asked)); }
  void on(wire::PmixWorld& world) { pmix_.pass_on(std::move(world)); }
  void on(wire::PmixEvent& event) { pmix_.pass_on(std::move(event)); }
  void on(wire::PmixAnswer& answer) { pmix_.pass_on(std::move(answer)); }

  PmiService pmi_;
  PmixService pmix_;
  std::uint32_t ranks_ = 0;  // of the newest world; 0: MPI is not served
};

}  // namespace dlaunch::mpi
