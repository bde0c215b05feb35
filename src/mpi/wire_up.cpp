#include "mpi/wire_up.h"

#include <spdlog/logger.h>

#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/shared_texts.h"
#include "launcher/frames.h"
#include "mpi/coordinators.h"
#include "mpi/spawner.h"

namespace dlaunch::mpi {
namespace {

constexpr int kReportedRefusals = 5;  // number of refused spawns that are reported

class WireUp final : public launcher::Component {
 public:
  explicit WireUp(const launcher::Context& context);

  bool on(int host, wire::Message& message, std::deque<sys::Fd>& fds) override;
  void rank_ended(int rank) override;
  void host_ready(int host) override;
  void host_lost(int host, const launcher::HostFailure& loss) override;
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

  const launcher::Context& context_;
  PmiCoordinator mpi_;
  PmixCoordinator pmix_;
  Spawner spawner_;
  SpareHosts spare_hosts_;
  int refused_spawns_ = 0;
};

WireUp::WireUp(const launcher::Context& context)
    : context_(context),
      mpi_(context.plan, context.hosts),
      pmix_(context.plan, context.hosts, context.options.pmix_program),
      spawner_(context, mpi_),
      spare_hosts_(context) {}

bool WireUp::on(int host, wire::Message& message, std::deque<sys::Fd>&) {
  return std::visit(
      [&](auto& m) {
        constexpr bool kForMpi = requires { this->on(host, m); };
        if constexpr (kForMpi) on(host, m);
        return kForMpi;
      },
      message);
}

void WireUp::on(int host, wire::FenceIn& fence) {
  context_.broken(host, mpi_.fence(host, fence));
  print_warnings();
}

void WireUp::on(int host, wire::NameAsk& ask) {
  context_.broken(host, mpi_.name(host, ask) ? "" : "protocol error: invalid request from the agent");
}

void WireUp::on(int host, const wire::MpiAbort& aborted) {
  const int rank = static_cast<int>(aborted.rank);
  context_.log.debug("rank {} called MPI_Abort with code {}", context_.plan.worlds.name(rank), aborted.code);
  context_.happened(
      job::RankAborted{rank, static_cast<int>(aborted.code & 0xff), aborted.time_ns, context_.hosts.clock(host)});
}

void WireUp::on(int host, wire::PmixCollect& collect) {
  context_.broken(host, pmix_.collect(host, collect));
  print_warnings();
}

/// Describes the new world to every host before its ranks start and before the requesting rank continues.
void WireUp::on(int host, wire::SpawnAsk& ask) {
  const auto request = spawn_request(ask);
  if (!request) return context_.broken(host, "protocol error: invalid request from the agent");
  if (has_ended(ask)) return answer(host, ask, 0);
  if (spare_hosts_.full()) return refuse(host, ask, "too many spawns wait for hosts");
  auto spawned = spawner_.planned(*request);
  if (!spawned) return refuse(host, ask, what_and_why(spawned.error()));
  if (spare_hosts_.wait_for_hosts(*spawned, host, ask)) {
    return context_.log.info("rank {}: the spawn waits for hosts", context_.plan.worlds.name(request->asker));
  }
  const auto added = spawner_.take(*std::move(spawned), request->asker, std::move(ask.pairs));
  if (!added) return refuse(host, ask, what_and_why(added.error()));
  const int world = context_.plan.worlds.last();
  context_.log.debug("rank {} spawned {} ranks, world {}", context_.plan.worlds.name(request->asker),
                     added->host_of_rank.size(), world);
  pmix_.add_spawned_world(request->asker);
  context_.happened(*added);
  answer(host, ask, world);
}

/// `world` is 0 if the spawn failed.
void WireUp::answer(int host, const wire::SpawnAsk& ask, int world) {
  if (ask.pmix) return pmix_.spawned(host, ask.id, world);
  const std::string space = world == 0 ? "" : space_name(context_.plan, world);
  context_.hosts.answer(host, wire::SpawnAnswer{ask.rank, world != 0, static_cast<std::uint32_t>(world), space});
}

/// A program may retry without end; therefore only the first refusals are shown.
void WireUp::refuse(int host, const wire::SpawnAsk& ask, const std::string& why) {
  const std::string text = "rank " + context_.plan.worlds.name(static_cast<int>(ask.rank)) + " cannot spawn: " + why;
  ++refused_spawns_;
  if (refused_spawns_ > kReportedRefusals) {
    context_.log.debug(text);
  } else {
    context_.log.warn("{}{}", text, refused_spawns_ == kReportedRefusals ? " (further refusals are not shown)" : "");
  }
  answer(host, ask, 0);
}

void WireUp::host_ready(int host) {
  for (SpareHosts::Waiting& waiting : spare_hosts_.ready(host)) on(waiting.host, waiting.ask);
}

void WireUp::host_lost(int host, const launcher::HostFailure& loss) {
  pmix_.host_lost(host);
  const plan::PlannedHost& lost = context_.plan.host(host);
  const std::string why = lost.host.name + ": " + loss.why + (loss.hint.empty() ? "" : "; " + loss.hint);
  if (lost.ranks.empty()) context_.log.info(why);
  for (const SpareHosts::Waiting& waiting : spare_hosts_.lost(host)) {
    has_ended(waiting.ask) ? answer(waiting.host, waiting.ask, 0) : refuse(waiting.host, waiting.ask, why);
  }
}

/// A rank's children may send requests in its name, and dlaunch-pmix forwards requests with a delay.
bool WireUp::has_ended(const wire::SpawnAsk& ask) const {
  return context_.job.outcome().ranks[ask.rank].status.has_value();
}

std::vector<wire::Message> WireUp::shared_frames(int host) {
  if (context_.plan.mpi == plan::Mpi::none) return {};
  wire::MpiWorld world = mpi_.newest();
  world.here = static_cast<std::uint32_t>(launcher::newest_ranks(context_.plan, host).size());
  pmix_.describe(host, world);
  return {std::move(world)};
}

void WireUp::perform(const job::Action& action) {
  const auto* start = std::get_if<job::StartWorld>(&action);
  if (!start) return;
  for (const wire::Message& frame : launcher::world_frames(context_.plan, start->host, context_.options, context_.facts,
                                                           shared_frames(start->host))) {
    context_.hosts.answer(start->host, frame);
  }
}

void WireUp::rank_ended(int rank) {
  mpi_.rank_ended(rank);
  pmix_.rank_ended(rank);
  print_warnings();
}

void WireUp::print_warnings() {
  for (const std::string& text : {mpi_.warning(), pmix_.warning()}) {
    if (!text.empty()) context_.log.warn(text);
  }
}

}  // namespace

std::unique_ptr<launcher::Component> make_wire_up(const launcher::Context& context) {
  return std::make_unique<WireUp>(context);
}

}  // namespace dlaunch::mpi
