// PMIx on this host: a port for clients, the PMIx variables of the ranks, and dlaunch-pmix, the server process
// (src/pmix/bridge). The process starts when a program surely needs PMIx, or when the first client connects.
// Other jobs pay only for a socket. Frames between dlaunch-pmix and the launcher pass unchanged. Owned by MpiService;
// link, loop, children and files must outlive this object.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/children.h"
#include "agent/job_directory.h"
#include "base/lifetime.h"
#include "link/link.h"
#include "pmi/probe.h"
#include "pmix/environment.h"
#include "pmix/states.h"
#include "sys/fd.h"
#include "sys/oom_kills.h"
#include "wire/message.h"

namespace dlaunch::mpi {

// Finds the world of a rank among the worlds known to this host. PURE.

/// `worlds` have `first` and `size`, and are sorted by `first`. Null for the sidecar.
template <class Worlds>
auto* find_world(Worlds& worlds, std::uint32_t rank) {
  const auto later = std::ranges::upper_bound(worlds, rank, {}, [](const auto& world) { return world.first; });
  auto* world = later == worlds.begin() ? nullptr : std::addressof(*std::prev(later));
  return world && rank - world->first < world->size ? world : nullptr;
}

class PmixService {
 public:
  static constexpr std::chrono::seconds kPatience{30};      ///< for dlaunch-pmix to be ready
  static constexpr std::chrono::milliseconds kGrace{1000};  ///< for ranks that wait for a rank that never joins

  PmixService(asio::io_context& io, link::Link& link, agent::Children& children, agent::JobDirectory& files);

  void configure(const wire::MpiWorld& world);
  /// Whether ranks of such a program get the PMIx variables. From then on clients may connect.
  bool serves(pmi::Family family);
  /// NAME=VALUE, for a rank of a served program.
  std::vector<std::string> environment(const wire::Spawn& spawn, pmi::Family family, std::string_view command) const;

  /// Returns false for the sidecar.
  bool in_world(std::uint32_t rank) const { return find_world(worlds_, rank) != nullptr; }

  /// The rank ended or was never started. Returns true if the rank was in MPI.
  bool ended(std::uint32_t rank);

  void program(const wire::PmixProgram& program);
  /// Forwards the message to dlaunch-pmix; keeps the message until dlaunch-pmix is ready.
  void pass_on(wire::Message&& message);
  /// The job is over: from now on, the end of a process is not a failure.
  void stop();

  /// Calls `then` at once, or, if a program surely needs PMIx, as soon as PMIx works or has failed. A rank that fails
  /// before may fail because PMIx is missing, and the missing PMIx is the better error message.
  void once_settled(std::function<void()> then);
  /// From now on, once_settled() does not wait.
  void settle();

 private:
  enum class Phase { idle, requested, starting, running, over };
  struct World {
    std::uint32_t number;
    std::string space;
    std::uint32_t first;  // number of its rank 0
    std::uint32_t size;
    std::uint32_t here;                  // ranks on this host
    std::uint32_t earlier;               // ranks of earlier worlds on this host
    std::optional<std::uint32_t> never;  // a rank that ended without calling MPI_Init
  };

  bool listen();
  void need();
  void start(const std::string& path);
  bool spawn(const std::string& path, sys::Fd& socket);
  void received(wire::Message&& message);
  void read_stderr();
  void watch();
  bool waits_forever(const World& world) const;
  void process_ended(const agent::Children::End& end);
  void fail(std::string why, std::string hint);

  asio::io_context& io_;
  link::Link& link_;
  agent::Children& children_;
  agent::JobDirectory& files_;
  asio::posix::stream_descriptor listener_;
  asio::posix::stream_descriptor error_output_;  // stderr of dlaunch-pmix
  asio::steady_timer timer_;
  asio::steady_timer watch_;
  wire::MpiWorld job_;        // describes the first world
  std::deque<World> worlds_;  // sorted by their first ranks
  pmix::Site site_;
  size_t cpus_ = std::numeric_limits<size_t>::max();  // of the host; unknown: no limit
  Phase phase_ = Phase::idle;
  bool surely_ = false;  // a program surely needs PMIx
  pid_t pid_ = 0;
  std::optional<sys::OomWatch> oom_;  // since the start of the process
  sys::Fd image_;                     // the executable, if received in frames
  sys::Fd page_;                      // the memory of states_
  std::unique_ptr<pmix::States> states_;
  std::unique_ptr<link::Link> bridge_;
  std::vector<wire::Message> early_;
  std::string last_stderr_;
  bool settled_ = false;
  std::vector<std::function<void()>> unsettled_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::mpi
