#include "launcher/mpi.h"

#include <utility>
#include <vector>

namespace dlaunch::launcher {
namespace {

std::vector<int> ranks_of_hosts(const plan::Plan& plan) {
  std::vector<int> ranks;
  for (const plan::PlannedHost& planned : plan.hosts) ranks.push_back(static_cast<int>(planned.ranks.size()));
  return ranks;
}

}  // namespace

Mpi::Mpi(const plan::Plan& plan, Hosts& hosts) : plan_(plan), hosts_(hosts), gather_(ranks_of_hosts(plan)) {}

std::string Mpi::fence(int host, wire::Fence& fence) {
  std::string why = gather_.take(host, std::move(fence.pairs), fence.gone);
  if (why.empty()) share();
  return why;
}

void Mpi::rank_ended(int rank) {
  gather_.rank_ended(plan_.ranks[static_cast<size_t>(rank)].host, static_cast<std::uint32_t>(rank));
  share();
}

bool Mpi::name(int host, const wire::NameAsk& ask) {
  if (ask.what > static_cast<std::uint8_t>(pmi::NameOp::unpublish)) return false;
  auto answer = names_.ask(static_cast<pmi::NameOp>(ask.what), ask.service, ask.port);
  hosts_.send(host, wire::NameAnswer{ask.rank, answer.ok, std::move(answer.port)});
  return true;
}

void Mpi::share() {
  for (pmi::GatherAll::Shared& piece : gather_.take_shared()) {
    if (!piece.broken.empty()) complaint_ = piece.broken;
    hosts_.send_to_all(wire::Shared{std::move(piece.pairs), piece.last, !piece.broken.empty()});
  }
}

}  // namespace dlaunch::launcher
