#include "mpi/coordinators.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/index_cast.h"
#include "launcher/frames.h"
#include "pmi/actions.h"
#include "pmi/server.h"
#include "pmix/environment.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/randomness.h"

namespace dlaunch::mpi {
namespace {

constexpr size_t kPiece = 1u << 20;     // of data in a frame, so that other frames fit between pieces
constexpr size_t kMostWanted = 100000;  // requests at one time
constexpr size_t kMaxProgram = 64u << 20;

/// Serves as a password: PMIx clients must send this value.
std::string secret() { return sys::random_hex(16); }

std::string machine() {
  utsname names{};
  ::uname(&names);
  return names.machine;
}

std::vector<int> ranks_of_hosts(const plan::Plan& plan, int world) {
  std::vector<int> ranks(plan.hosts.size());
  const int first = plan.worlds.first(world);
  const int size = plan.worlds.size(world, static_cast<int>(plan.ranks.size()));
  for (int id = first; id < first + size; ++id) {
    ++at_index(ranks, plan.rank(id).host);
  }
  return ranks;
}

/// The slots of all hosts, including those without a rank: MPI's universe. Each rank beyond the slots counts as one.
std::uint32_t slots(const plan::Plan& plan) {
  std::uint32_t slots = 0;
  for (const plan::PlannedHost& each : plan.hosts) {
    if (each.unreachable) continue;
    slots += std::max(static_cast<std::uint32_t>(each.host.slots), static_cast<std::uint32_t>(each.ranks.size()));
  }
  for (const plan::Host& each : plan.spare) slots += static_cast<std::uint32_t>(each.slots);
  return slots;
}

}  // namespace

wire::MpiWorld newest_world(const plan::Plan& plan) {
  const int world = plan.worlds.last();
  const int first = plan.worlds.first(world);
  std::vector<int> hosts;
  hosts.reserve(plan.ranks.size() - static_cast<size_t>(first));
  for (auto id = static_cast<size_t>(first); id < plan.ranks.size(); ++id) hosts.push_back(plan.ranks[id].host);
  wire::MpiWorld frame;
  frame.world = static_cast<std::uint32_t>(world);
  frame.first = static_cast<std::uint32_t>(first);
  frame.size = static_cast<std::uint32_t>(hosts.size());
  frame.first_app = static_cast<std::uint32_t>(plan.rank(first).app);
  frame.space = space_name(plan, world);
  frame.universe = slots(plan);
  frame.mapping = pmi::process_mapping(hosts);
  frame.alone = std::ranges::all_of(hosts, [&](int host) { return host == hosts.front(); });
  frame.probe = plan.mpi == plan::Mpi::automatic;
  frame.pmi1 = plan.mpi != plan::Mpi::pmix;
  return frame;
}

std::string space_name(const plan::Plan& plan, int world) {
  const std::string round = plan.round == 0 ? "" : "_round" + std::to_string(plan.round);
  return "kvs_" + plan.job_id + round + (world == 1 ? "" : "_" + std::to_string(world));
}

PmixCoordinator::PmixCoordinator(const plan::Plan& plan, launcher::Hosts& hosts, std::string program)
    : plan_(plan), hosts_(hosts), program_(std::move(program)), space_("dlaunch-" + secret()) {
  add_world({});
}

void PmixCoordinator::add_spawned_world(int parent) {
  add_world(parent);
  for (const int host : program_hosts_) hosts_.answer(host, worlds_.back());
}

void PmixCoordinator::add_world(std::optional<int> parent) {
  const int number = plan_.worlds.last();
  const int first = plan_.worlds.first(number);
  wire::PmixWorld world;
  world.space = pmix::world_space(space_, number);
  world.first = static_cast<std::uint32_t>(first);
  world.universe = slots(plan_);
  for (; named_ < plan_.hosts.size(); ++named_) world.hosts.push_back(plan_.hosts[named_].host.name);
  std::vector<int> hosts;
  for (auto id = static_cast<size_t>(first); id < plan_.ranks.size(); ++id) {
    const auto host = static_cast<std::uint32_t>(hosts.emplace_back(plan_.ranks[id].host));
    if (world.placed.empty() || world.placed[world.placed.size() - 2] != host) {
      world.placed.insert(world.placed.end(), {host, 0});
    }
    ++world.placed.back();
  }
  for (auto app = static_cast<size_t>(plan_.rank(first).app); app < plan_.apps.size(); ++app) {
    world.of_program.push_back(static_cast<std::uint32_t>(plan_.apps[app].ranks));
  }
  if (parent) {
    pmix::ProcId process = this->process(*parent);
    world.parent = std::move(process.space);
    world.parent_rank = process.rank;
  }
  collectives_.add_world(world.space, hosts);
  worlds_.push_back(std::move(world));
  ended_.resize(plan_.ranks.size());
}

pmix::ProcId PmixCoordinator::process(int id) const {
  const Worlds::Place place = plan_.worlds.place(id);
  return {pmix::world_space(space_, place.world), static_cast<std::uint32_t>(place.rank)};
}

bool PmixCoordinator::served() const { return plan_.mpi == plan::Mpi::automatic || plan_.mpi == plan::Mpi::pmix; }

void PmixCoordinator::describe(int host, wire::MpiWorld& world) const {
  if (!served()) return;
  world.pmix = !program_.empty();
  if (!world.pmix) {
    world.no_pmix =
        "an MPI program requires PMIx, but this build of dlaunch has no PMIx: each rank runs in its own MPI world of "
        "size 1";
    return;
  }
  world.personal = plan_.mpi == plan::Mpi::pmix;
  world.pmix_space = worlds_[world.world - 1].space;
  world.node = static_cast<std::uint32_t>(host);
  world.name = plan_.host(host).host.name;
}

std::string PmixCoordinator::collect(int host, const wire::PmixCollect& collect) {
  std::string why = collectives_.take(host, collect.kind, collect.members, collect.data);
  if (why.empty()) share();
  return why;
}

void PmixCoordinator::share() {
  for (const pmix::Collectives::Over& over : collectives_.take_over()) {
    if (!over.why.empty()) warning_ = over.why;
    std::string_view rest = over.data;
    do {
      const std::string_view piece = rest.substr(0, kPiece);
      rest.remove_prefix(piece.size());
      const wire::PmixShared shared{over.kind, over.members, std::string(piece), rest.empty(),
                                    static_cast<std::int32_t>(over.status)};
      for (const int host : over.hosts) hosts_.send(host, shared);
    } while (!rest.empty());
  }
}

void PmixCoordinator::want(int host, const wire::PmixWant& want) {
  const auto of = collectives_.id_of(want.space, want.of);
  const Wanted wanted{host, want.id, of.value_or(0)};
  if (!of) return refuse(wanted, pmix::PmixStatus::not_found);
  if (ended_[*of]) return refuse(wanted, pmix::PmixStatus::unreachable);
  if (wanted_.size() >= kMostWanted) return refuse(wanted, pmix::PmixStatus::out_of_memory);
  const std::uint32_t id = next_++;
  wanted_.emplace(id, wanted);
  hosts_.answer(plan_.ranks[*of].host, wire::PmixModexAsk{id, want.space, want.of});
}

void PmixCoordinator::refuse(const Wanted& wanted, pmix::PmixStatus status) {
  hosts_.answer(wanted.host, wire::PmixAnswer{wanted.id, static_cast<std::int32_t>(status), {}, {}, {}});
}

std::string PmixCoordinator::modex(int host, wire::PmixModex& modex) {
  const auto found = wanted_.find(modex.id);
  if (found == wanted_.end()) return {};  // the rank has ended since the request
  if (plan_.ranks[found->second.of].host != host)
    return "protocol error: the agent answered for a rank of another host";
  const Wanted wanted = found->second;
  wanted_.erase(found);
  hosts_.answer(wanted.host, wire::PmixAnswer{wanted.id, modex.status, std::move(modex.data), {}, {}});
  return {};
}

std::string PmixCoordinator::names(int host, const wire::PmixNames& names) {
  const pmix::PublishedData::Asker asker{host, names.id, process(static_cast<int>(names.rank))};
  if (names.what == 0) {
    answer(published_.publish(asker, names.keys, names.values, names.once));
  } else if (names.what == 1) {
    answer(published_.look_up(asker, names.keys, names.wait));
  } else if (names.what == 2) {
    answer(published_.unpublish(asker, names.keys));
  } else {
    return "protocol error: invalid request from the agent";
  }
  return {};
}

void PmixCoordinator::answer(const pmix::PublishedData::Answers& answers) {
  for (const pmix::PublishedData::Answer& one : answers) {
    wire::PmixAnswer answer{one.id, static_cast<std::int32_t>(one.status), {}, {}, {}};
    for (const pmix::PublishedData::Found& found : one.found) {
      answer.found.insert(answer.found.end(), {found.owner.space, found.key, found.value});
      answer.owners.push_back(found.owner.rank);
    }
    hosts_.answer(one.host, answer);
  }
}

void PmixCoordinator::program(int host, const wire::PmixProgramAsk& ask) {
  send_program(host, ask);
  program_hosts_.insert(host);
  for (const wire::PmixWorld& world : worlds_) hosts_.send(host, world);
}

/// A local agent gets the path; a remote agent gets the bytes.
void PmixCoordinator::send_program(int host, const wire::PmixProgramAsk& ask) {
  if (plan_.host(host).host.local) {
    return hosts_.send(host, wire::PmixProgram{program_, {}, true, {}});
  }
  const auto refuse_to = [&](std::string why) { hosts_.send(host, wire::PmixProgram{{}, {}, true, std::move(why)}); };
  if (ask.machine != machine())
    return refuse_to("dlaunch-pmix is built for " + machine() + ", but the host is " + ask.machine);
  if (bytes_.empty()) bytes_ = sys::read_file(program_, kMaxProgram).value_or("");
  if (bytes_.empty()) return refuse_to("cannot read " + program_ + ": " + std::strerror(errno));
  for (std::string_view rest = bytes_; !rest.empty();) {
    const std::string_view piece = rest.substr(0, kPiece);
    rest.remove_prefix(piece.size());
    hosts_.send(host, wire::PmixProgram{{}, std::string(piece), rest.empty(), {}});
  }
}

std::string PmixCoordinator::event(int host, const wire::PmixEvent& event) {
  const auto id = collectives_.id_of(event.space, event.of);
  if (!id || plan_.ranks[*id].host != host) return "protocol error: the agent sent an event of a rank of another host";
  for (const int other : program_hosts_) {
    if (other != host) hosts_.answer(other, event);
  }
  return {};
}

void PmixCoordinator::spawned(int host, std::uint32_t id, int world) {
  const bool ok = world > 0;
  const auto status = static_cast<std::int32_t>(ok ? pmix::PmixStatus::ok : pmix::PmixStatus::failed);
  hosts_.answer(host, wire::PmixAnswer{id, status, ok ? pmix::world_space(space_, world) : "", {}, {}});
}

void PmixCoordinator::host_lost(int host) const {
  const std::vector<int>& ranks = plan_.host(host).ranks;
  if (ranks.empty()) return;
  const std::string first_space = space_name(plan_, plan_.worlds.place(ranks.front()).world);
  const auto place = sys::HeldPlace::of(pmix::segments_directory(first_space, static_cast<std::uint32_t>(host)));
  if (!place) return;
  place.directory.remove_directory(place.name, [](const struct stat& its) { return its.st_uid == ::geteuid(); });
}

void PmixCoordinator::rank_ended(int rank) {
  const auto number = static_cast<std::uint32_t>(rank);
  ended_[number] = true;
  collectives_.rank_ended(number);
  published_.ended(process(rank));
  share();
  for (auto at = wanted_.begin(); at != wanted_.end();) {
    if (at->second.of != number) {
      ++at;
      continue;
    }
    refuse(at->second, pmix::PmixStatus::unreachable);
    at = wanted_.erase(at);
  }
}

PmiCoordinator::PmiCoordinator(const plan::Plan& plan, launcher::Hosts& hosts) : plan_(plan), hosts_(hosts) {
  add_world({}, {});
}

void PmiCoordinator::add_world(std::vector<std::string> pairs, std::string parent) {
  const int world = plan_.worlds.last();
  gathers_.emplace_back(ranks_of_hosts(plan_, world), world, static_cast<std::uint32_t>(plan_.worlds.first(world)));
  newest_ = newest_world(plan_);
  newest_.pairs = std::move(pairs);
  newest_.parent = std::move(parent);
}

std::string PmiCoordinator::fence(int host, wire::FenceIn& fence) {
  if (fence.world < 1 || fence.world > gathers_.size()) return "protocol error: the agent sent an unknown world number";
  const auto is_own = [&](std::uint32_t id) { return id < plan_.ranks.size() && plan_.ranks[id].host == host; };
  if (!std::ranges::all_of(fence.gone, is_own))
    return "protocol error: the agent sent a message about a rank of another host";
  std::string why = gathers_[fence.world - 1].take(host, std::move(fence.pairs), fence.gone);
  if (why.empty()) share(static_cast<int>(fence.world));
  return why;
}

void PmiCoordinator::rank_ended(int id) {
  const int world = plan_.worlds.place(id).world;
  gathers_[static_cast<size_t>(world) - 1].rank_ended(plan_.rank(id).host, static_cast<std::uint32_t>(id));
  share(world);
}

bool PmiCoordinator::name(int host, const wire::NameAsk& ask) {
  if (ask.what > static_cast<std::uint8_t>(pmi::NameOp::unpublish)) return false;
  if (ask.service.size() > pmi::kMaxValue || ask.port.size() > pmi::kMaxValue) return false;
  auto answer = names_.ask(static_cast<pmi::NameOp>(ask.what), ask.service, ask.port);
  hosts_.answer(host, wire::NameAnswer{ask.rank, answer.ok, std::move(answer.port)});
  return true;
}

void PmiCoordinator::share(int world) {
  pmi::FenceCollector& gather = gathers_[static_cast<size_t>(world) - 1];
  for (pmi::FenceCollector::Shared& piece : gather.take_result()) {
    if (!piece.broken.empty()) warning_ = piece.broken;
    const wire::Message shared =
        wire::FenceOut{static_cast<std::uint32_t>(world), std::move(piece.pairs), piece.last, !piece.broken.empty()};
    for (int host = 0; host < static_cast<int>(plan_.hosts.size()); ++host) {
      if (gather.takes_part(host)) hosts_.send(host, shared);
    }
  }
}

}  // namespace dlaunch::mpi
