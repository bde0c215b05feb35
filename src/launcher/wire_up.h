// Serves all requests of MPI programs to the launcher: data exchange between ranks (mpi_coordinators.h), and more ranks
// (spawner.h). Owned by the Launcher; all constructor arguments must outlive this object.
#pragma once

#include <spdlog/fwd.h>

#include <functional>
#include <string>
#include <vector>

#include "launcher/host_link.h"
#include "launcher/hosts.h"
#include "launcher/mpi_coordinators.h"
#include "launcher/spawner.h"

namespace dlaunch::launcher {

class WireUp {
 public:
  struct Handlers {
    std::function<void(int host, const std::string& why)> broken;  ///< the host's agent violates the protocol
    std::function<void(int host, const HostFailure&)> lost;
    std::function<void(const job::Event&)> happened;
  };
  /// `program` is the path of dlaunch-pmix on this machine; empty: not installed.
  WireUp(const Spawner::Parts& parts, Hosts& hosts, std::string program, Handlers handlers, spdlog::logger& log);

  void on(int host, wire::FenceIn& fence);
  void on(int host, wire::NameAsk& ask);
  void on(int host, wire::SpawnAsk& ask);
  void on(int host, wire::PmixCollect& collect);
  void on(int host, wire::PmixWant& want) { pmix_.want(host, want); }
  void on(int host, wire::PmixModex& modex) { check(host, pmix_.modex(host, modex)); }
  void on(int host, wire::PmixNames& names) { check(host, pmix_.names(host, names)); }
  void on(int host, wire::PmixEvent& event) { check(host, pmix_.event(host, event)); }
  void on(int host, wire::PmixProgramAsk& ask) { pmix_.program(host, ask); }
  void on(int host, wire::PmixFailed& failed) { handlers_.lost(host, {failed.why, failed.hint}); }

  /// The frames that start this host's initial ranks.
  std::vector<wire::Message> start_frames(int host) const;
  std::vector<wire::Message> newest_frames(int host) const;

  void rank_ended(int rank);
  /// Prints warnings about MPI failures caused by the end of ranks.
  void print_warnings();
  void host_ready(int host);
  void host_lost(int host, const HostFailure& loss);

 private:
  void check(int host, const std::string& why);
  std::vector<wire::Message> described(int host, std::vector<wire::Message> frames) const;
  bool has_ended(const wire::SpawnAsk& ask) const;
  void refuse(int host, const wire::SpawnAsk& ask, const std::string& why);
  void answer(int host, const wire::SpawnAsk& ask, int world);

  const plan::Plan& plan_;
  const JobOptions& settings_;
  const std::vector<output::RankFacts>& facts_;
  const job::Job& job_;
  Hosts& hosts_;
  Handlers handlers_;
  spdlog::logger& log_;
  PmiCoordinator mpi_;
  PmixCoordinator pmix_;
  Spawner spawner_;
  SpareHosts spare_hosts_;
  int refused_spawns_ = 0;
};

}  // namespace dlaunch::launcher
