// Checks that what an agent says of ranks is about ranks of its host, in order, and allowed by the plan. A message too
// early or twice would leave the job waiting for ever; a request for MPI where none is served would let a host start
// programs on others. The sidecar counts as the rank after the last. PURE. Owned by the launcher; the plan must outlive
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index_cast.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class RankOrder {
 public:
  explicit RankOrder(const plan::Plan& plan) : plan_(plan), states_(plan.ranks.size() + 1) {}

  /// The launcher asked the agent to start the rank.
  void asked(int rank) {
    states_.resize(plan_.ranks.size() + 1);  // spawned ranks may have been added
    at_index(states_, rank) = State::asked;
    if (is_rank(static_cast<std::uint32_t>(rank))) starting_.insert(plan_.rank(rank).host);
  }

  /// What is wrong with the message; empty: nothing.
  template <class Message>
  std::string check(int host, const Message& message, job::Phase phase) {
    if constexpr (requires { message.rank; }) {
      if (!is_rank_of(host, message.rank)) return "its agent names a rank of another host";
    }
    if constexpr (kIsOneOf<Message, wire::Uncaught>) {
      const auto own = [&](std::uint32_t rank) { return is_rank_of(host, rank); };
      if (!std::ranges::all_of(message.ranks, own)) return "its agent names a rank of another host";
    }
    if (!is_served(message)) return "its agent asks for MPI, which is not served there";
    return in_order(host, message, phase) ? "" : "its agent sent a message out of order";
  }

 private:
  enum class State : unsigned char { planned, asked, started, ended };
  template <class Message, class... Any>
  static constexpr bool kIsOneOf = (std::is_same_v<Message, Any> || ...);
  template <class Message>
  static constexpr bool kIsOfPmix =
      kIsOneOf<Message, wire::PmixCollect, wire::PmixWant, wire::PmixModex, wire::PmixNames, wire::PmixEvent>;
  template <class Message>
  static constexpr bool kIsOfRank = kIsOneOf<Message, wire::NameAsk, wire::SpawnAsk, wire::PmixNames, wire::MpiAbort,
                                             wire::StdinClosed, wire::OutputData, wire::WroteError>;

  bool is_rank(std::uint32_t number) const { return number < plan_.ranks.size(); }
  bool is_rank_of(int host, std::uint32_t rank) const {
    if (rank == plan_.ranks.size()) return plan_.sidecar && plan_.sidecar->host == host;
    return is_rank(rank) && plan_.ranks[rank].host == host;
  }

  /// Whether the protocol that the message belongs to is served.
  template <class Message>
  bool is_served(const Message& m) const {
    if constexpr (kIsOneOf<Message, wire::NameAsk, wire::SpawnAsk, wire::PmixNames, wire::MpiAbort>) {
      if (!is_rank(m.rank)) return false;  // the sidecar has no MPI
    }
    if constexpr (kIsOneOf<Message, wire::MpiAbort>) return serves_pmi() || serves(plan::Mpi::pmix);
    if constexpr (kIsOneOf<Message, wire::SpawnAsk>) return m.pmix ? serves(plan::Mpi::pmix) : serves_pmi();
    if constexpr (kIsOneOf<Message, wire::FenceIn, wire::NameAsk>) return serves_pmi();
    if constexpr (kIsOfPmix<Message> || kIsOneOf<Message, wire::PmixProgramAsk, wire::PmixFailed>) {
      return serves(plan::Mpi::pmix);
    }
    return true;
  }
  bool serves(plan::Mpi protocol) const { return plan_.mpi == plan::Mpi::automatic || plan_.mpi == protocol; }
  /// One server speaks both, each rank in the dialect of its first line.
  bool serves_pmi() const { return serves(plan::Mpi::pmi1) || serves(plan::Mpi::pmi2); }

  bool in_order(int, const wire::Started& m, job::Phase) { return step(m.rank, State::asked, State::started); }
  bool in_order(int, const wire::SpawnFailed& m, job::Phase) {
    const State before = std::exchange(states_[m.rank], State::ended);
    return before == State::asked || before == State::started;
  }
  bool in_order(int, const wire::Ended& m, job::Phase) { return step(m.rank, State::started, State::ended); }
  bool in_order(int, const wire::Clean&, job::Phase phase) { return phase == job::Phase::finishing; }
  bool in_order(int, const wire::Credit& m, job::Phase) { return m.stream == 0 && has_started(m.rank); }
  bool in_order(int host, const wire::Uncaught& m, job::Phase) const {
    return std::ranges::all_of(m.ranks,
                               [&](std::uint32_t rank) { return is_rank_of(host, rank) && has_started(rank); });
  }
  bool in_order(int host, const wire::FenceIn&, job::Phase) { return starting_.contains(host); }
  /// Once for each host that has programs that may need it.
  bool in_order(int host, const wire::PmixProgramAsk&, job::Phase) {
    return starting_.contains(host) && have_pmix_.insert(host).second;
  }
  bool in_order(int host, const wire::SpawnAsk& m, job::Phase) {
    return has_started(m.rank) && (!m.pmix || have_pmix_.contains(host));
  }
  template <class Other>
  bool in_order(int host, const Other& m, job::Phase) const {
    if constexpr (kIsOfPmix<Other>) {
      if (!have_pmix_.contains(host)) return false;
    }
    if constexpr (kIsOfRank<Other>) return has_started(m.rank);
    return true;
  }

  /// It may have ended, too, since dlaunch-pmix passes on a rank's request in its own time.
  bool has_started(std::uint32_t rank) const { return states_[rank] >= State::started; }
  bool step(std::uint32_t rank, State from, State to) { return std::exchange(states_[rank], to) == from; }

  const plan::Plan& plan_;
  std::vector<State> states_;
  std::set<int> starting_;   // hosts that were asked to start ranks
  std::set<int> have_pmix_;  // hosts that asked for dlaunch-pmix
};

}  // namespace dlaunch::launcher
