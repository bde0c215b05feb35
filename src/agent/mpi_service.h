// MPI on this host: which of PMI and PMIx each program is served, what its ranks need for it at their start, and what
// MPI tells the launcher. Owned by the Agent; Ranks calls the first part. Link, loop and files must outlive it.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "agent/job_directory.h"
#include "agent/pmi_service.h"
#include "agent/pmix_service.h"
#include "link/link.h"
#include "pmi/probe.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

/// Which MPI is served to a program's ranks.
struct ServedMpi {
  pmi::Family family = pmi::Family::unknown;
  bool pmi = false;   ///< they get a PMI connection
  bool pmix = false;  ///< they are told of PMIx
};

class MpiService {
 public:
  MpiService(asio::io_context& io, link::Link& link, JobDirectory& files) : pmi_(io, link), pmix_(io, link, files) {}

  // ---- for Ranks ----
  /// For the program at `path`. Removes from `env` what belongs to an MPI that its ranks do not get.
  ServedMpi serve(const std::string& path, std::vector<std::string>& env);
  /// The rank's own environment. What the user or the plan has set stays.
  std::vector<std::string> environment(const wire::Spawn& spawn, const wire::Program& program,
                                       const ServedMpi& served) const;
  /// The end of the connection that the rank inherits; it is served from now on. Empty where it has none, else errno.
  tl::expected<sys::Fd, int> connect(const wire::Spawn& spawn, const ServedMpi& served);
  /// The rank runs without a connection and never comes to a fence.
  void not_connected(std::uint32_t rank) { pmi_.ended(rank); }
  /// The rank ended or was never started. True when it was in MPI.
  bool ended(std::uint32_t rank);
  /// Calls `then` at once, or once it is known whether there is a PMIx that a program surely needs.
  void once_settled(std::function<void()> then) { pmix_.once_settled(std::move(then)); }

  // ---- for the Agent ----
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
  /// False when the child is no process of MPI's.
  bool reaped(pid_t pid, int wait_status) { return pmix_.reaped(pid, wait_status); }
  /// The ranks are signalled, so nothing waits for PMIx any more.
  void settle() { pmix_.settle(); }
  /// The job is over: from now on no end is a failure.
  void stop() { pmix_.stop(); }

 private:
  PmiService pmi_;
  PmixService pmix_;
  std::uint32_t ranks_ = 0;  // of the newest world; 0: no MPI is served
};

}  // namespace dlaunch::agent
