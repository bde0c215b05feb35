#include "launcher/pmi_coordinator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/index_cast.h"
#include "launcher/frames.h"
#include "pmi/limits.h"

namespace dlaunch::launcher {
namespace {

std::vector<int> ranks_of_hosts(const plan::Plan& plan, int world) {
  std::vector<int> ranks(plan.hosts.size());
  const int first = plan.worlds.first(world);
  const int size = plan.worlds.size(world, static_cast<int>(plan.ranks.size()));
  for (int id = first; id < first + size; ++id) {
    ++at_index(ranks, plan.rank(id).host);
  }
  return ranks;
}

}  // namespace

PmiCoordinator::PmiCoordinator(const plan::Plan& plan, Hosts& hosts) : plan_(plan), hosts_(hosts) { add_world({}, {}); }

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

}  // namespace dlaunch::launcher
