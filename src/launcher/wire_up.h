// The component of MPI: exchanges data between ranks (mpi_coordinators.h), and starts more ranks (spawner.h). Owned by
// the Launcher; the Context must outlive this object.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "launcher/component.h"
#include "launcher/mpi_coordinators.h"
#include "launcher/spawner.h"

namespace dlaunch::launcher {

class WireUp final : public Component {
 public:
  explicit WireUp(const Context& context);

  bool on(int host, wire::Message& message, std::deque<sys::Fd>& fds) override;
  void rank_ended(int rank) override;
  void host_ready(int host) override;
  void host_lost(int host, const HostFailure& loss) override;
  std::vector<wire::Message> shared_frames(int host) override;
  void perform(const job::Action& action) override;

 private:
  void on(int host, wire::FenceIn& fence);
  void on(int host, wire::NameAsk& ask);
  void on(int host, wire::SpawnAsk& ask);
  void on(int host, wire::PmixCollect& collect);
  void on(int host, wire::PmixWant& want) { pmix_.want(host, want); }
  void on(int host, wire::PmixModex& modex) { context_.broken(host, pmix_.modex(host, modex)); }
  void on(int host, wire::PmixNames& names) { context_.broken(host, pmix_.names(host, names)); }
  void on(int host, wire::PmixEvent& event) { context_.broken(host, pmix_.event(host, event)); }
  void on(int host, wire::PmixProgramAsk& ask) { pmix_.program(host, ask); }
  void on(int host, wire::PmixFailed& failed) { context_.lost(host, {failed.why, failed.hint}); }
  void on(int host, const wire::MpiAbort& aborted);

  /// Prints warnings about MPI failures caused by the end of ranks.
  void print_warnings();
  bool has_ended(const wire::SpawnAsk& ask) const;
  void refuse(int host, const wire::SpawnAsk& ask, const std::string& why);
  void answer(int host, const wire::SpawnAsk& ask, int world);

  const Context& context_;
  PmiCoordinator mpi_;
  PmixCoordinator pmix_;
  Spawner spawner_;
  SpareHosts spare_hosts_;
  int refused_spawns_ = 0;
};

}  // namespace dlaunch::launcher
