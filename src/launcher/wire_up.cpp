#include "launcher/wire_up.h"

#include <spdlog/logger.h>

#include <utility>
#include <variant>

#include "base/error_forms.h"
#include "launcher/frames.h"

namespace dlaunch::launcher {
namespace {

constexpr int kReportedRefusals = 5;  // number of refused spawns that are reported

}  // namespace

WireUp::WireUp(const Spawner::Parts& parts, Hosts& hosts, std::string program, Handlers handlers, spdlog::logger& log)
    : plan_(parts.plan),
      settings_(parts.settings),
      facts_(parts.facts),
      job_(parts.job),
      hosts_(hosts),
      handlers_(std::move(handlers)),
      log_(log),
      mpi_(parts.plan, hosts),
      pmix_(parts.plan, hosts, std::move(program)),
      spawner_(parts, mpi_),
      spare_hosts_(parts.plan, hosts, handlers_.happened) {}

void WireUp::check(int host, const std::string& why) {
  if (!why.empty()) handlers_.broken(host, why);
}

void WireUp::on(int host, wire::FenceIn& fence) {
  check(host, mpi_.fence(host, fence));
  print_warnings();
}

void WireUp::on(int host, wire::NameAsk& ask) {
  check(host, mpi_.name(host, ask) ? "" : "protocol error: invalid request from the agent");
}

void WireUp::on(int host, wire::PmixCollect& collect) {
  check(host, pmix_.collect(host, collect));
  print_warnings();
}

/// Describes the new world to every host before its ranks start and before the requesting rank continues.
void WireUp::on(int host, wire::SpawnAsk& ask) {
  const auto request = spawn_request(ask);
  if (!request) return check(host, "protocol error: invalid request from the agent");
  if (has_ended(ask)) return answer(host, ask, 0);
  if (spare_hosts_.full()) return refuse(host, ask, "too many spawns wait for hosts");
  auto spawned = spawner_.planned(*request);
  if (!spawned) return refuse(host, ask, what_and_why(spawned.error()));
  if (spare_hosts_.wait_for_hosts(*spawned, host, ask)) {
    return log_.info("rank {}: the spawn waits for hosts", plan_.worlds.name(request->asker));
  }
  const auto added = spawner_.take(*std::move(spawned), request->asker, std::move(ask.pairs));
  if (!added) return refuse(host, ask, what_and_why(added.error()));
  const int world = plan_.worlds.last();
  log_.debug("rank {} spawned {} ranks, world {}", plan_.worlds.name(request->asker), added->host_of_rank.size(),
             world);
  pmix_.add_spawned_world(request->asker);
  handlers_.happened(*added);
  answer(host, ask, world);
}

/// `world` is 0 if the spawn failed.
void WireUp::answer(int host, const wire::SpawnAsk& ask, int world) {
  if (ask.pmix) return pmix_.spawned(host, ask.id, world);
  const std::string space = world == 0 ? "" : space_name(plan_, world);
  hosts_.answer(host, wire::SpawnAnswer{ask.rank, world != 0, static_cast<std::uint32_t>(world), space});
}

/// A program may retry without end; therefore only the first refusals are shown.
void WireUp::refuse(int host, const wire::SpawnAsk& ask, const std::string& why) {
  const std::string text = "rank " + plan_.worlds.name(static_cast<int>(ask.rank)) + " cannot spawn: " + why;
  ++refused_spawns_;
  if (refused_spawns_ > kReportedRefusals) {
    log_.debug(text);
  } else {
    log_.warn("{}{}", text, refused_spawns_ == kReportedRefusals ? " (further refusals are not shown)" : "");
  }
  answer(host, ask, 0);
}

void WireUp::host_ready(int host) {
  for (SpareHosts::Waiting& waiting : spare_hosts_.ready(host)) on(waiting.host, waiting.ask);
}

void WireUp::host_lost(int host, const HostFailure& loss) {
  pmix_.host_lost(host);
  const plan::PlannedHost& lost = plan_.host(host);
  const std::string why = lost.host.name + ": " + loss.why + (loss.hint.empty() ? "" : "; " + loss.hint);
  if (lost.ranks.empty()) log_.info(why);
  for (const SpareHosts::Waiting& waiting : spare_hosts_.lost(host)) {
    has_ended(waiting.ask) ? answer(waiting.host, waiting.ask, 0) : refuse(waiting.host, waiting.ask, why);
  }
}

/// A rank's children may send requests in its name, and dlaunch-pmix forwards requests with a delay.
bool WireUp::has_ended(const wire::SpawnAsk& ask) const { return job_.outcome().ranks[ask.rank].status.has_value(); }

std::vector<wire::Message> WireUp::start_frames(int host) const {
  return described(host, launcher::start_frames(plan_, host, settings_, facts_, mpi_.newest()));
}

std::vector<wire::Message> WireUp::newest_frames(int host) const { return described(host, spawner_.frames(host)); }

std::vector<wire::Message> WireUp::described(int host, std::vector<wire::Message> frames) const {
  for (wire::Message& frame : frames) {
    if (auto* world = std::get_if<wire::MpiWorld>(&frame)) pmix_.describe(host, *world);
  }
  return frames;
}

void WireUp::rank_ended(int rank) {
  mpi_.rank_ended(rank);
  pmix_.rank_ended(rank);
}

void WireUp::print_warnings() {
  for (const std::string& text : {mpi_.warning(), pmix_.warning()}) {
    if (!text.empty()) log_.warn(text);
  }
}

}  // namespace dlaunch::launcher
