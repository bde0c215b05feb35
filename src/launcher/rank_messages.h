// The agents' messages about ranks: RankOrder checks the messages, and functions convert the messages to the job's
// events. PURE, except that descriptors are moved.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index_cast.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/output.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::launcher {

ExitStatus exit_status(const wire::Ended& ended);

/// "0-3,8"; empty if the launcher did not request the CPUs.
std::string folded_cpus(const wire::Started& started);

/// The read ends that arrived with the message, by stream; nullopt if the message announces more than arrived.
std::optional<std::array<sys::Fd, output::kStreams>> handed_over(const wire::Started& started,
                                                                 std::deque<sys::Fd>& fds);

/// Checks an agent's messages about ranks: the ranks must be on the agent's host, and the message must be in order and
/// allowed by the plan. An early or duplicate message would make the job wait forever. An MPI request without MPI would
/// let a host start programs on other hosts. The sidecar counts as the rank after the last rank. PURE. Owned by the
/// Launcher; the plan must outlive this object.
class RankOrder {
 public:
  explicit RankOrder(const plan::Plan& plan) : plan_(plan), states_(plan.ranks.size() + 1) {}

  /// The launcher requested the start of all ranks of the host, and of a sidecar there.
  void start_requested(int host) {
    start_requested(host, plan_.host(host).ranks);
    if (plan_.sidecar && plan_.sidecar->host == host) states_.back() = State::start_requested;
  }
  /// The launcher requested the start of these ranks, which are on the host.
  void start_requested(int host, const std::vector<int>& ranks) {
    states_.resize(plan_.ranks.size() + 1);  // spawned ranks may have been added
    for (const int rank : ranks) at_index(states_, rank) = State::start_requested;
    if (!ranks.empty()) starting_.insert(host);
  }

  /// Returns the protocol error, or an empty text.
  template <class Message>
  std::string check(int host, const Message& message, job::Phase phase) {
    if constexpr (requires { message.rank; }) {
      if (!is_rank_of(host, message.rank))
        return "protocol error: the agent sent a message about a rank of another host";
    }
    if constexpr (kIsOneOf<Message, wire::Uncaught>) {
      const auto own = [&](std::uint32_t rank) { return is_rank_of(host, rank); };
      if (!std::ranges::all_of(message.ranks, own))
        return "protocol error: the agent sent a message about a rank of another host";
    }
    if (!is_served(message))
      return "protocol error: the agent requested MPI, but dlaunch does not serve MPI on this host";
    return in_order(host, message, phase) ? "" : "protocol error: unexpected message from the agent";
  }

 private:
  enum class State : unsigned char { planned, start_requested, started, ended };
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

  /// Whether dlaunch serves the message's protocol.
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
  /// One server serves PMI-1 and PMI-2; the first line of each rank selects the version.
  bool serves_pmi() const { return serves(plan::Mpi::pmi1) || serves(plan::Mpi::pmi2); }

  bool in_order(int, const wire::Started& m, job::Phase) {
    return step(m.rank, State::start_requested, State::started);
  }
  bool in_order(int, const wire::SpawnFailed& m, job::Phase) {
    const State before = std::exchange(states_[m.rank], State::ended);
    return before == State::start_requested || before == State::started;
  }
  bool in_order(int, const wire::Ended& m, job::Phase) { return step(m.rank, State::started, State::ended); }
  bool in_order(int, const wire::Clean&, job::Phase phase) { return phase == job::Phase::finishing; }
  bool in_order(int, const wire::Credit& m, job::Phase) { return m.stream == 0 && has_started(m.rank); }
  bool in_order(int host, const wire::Uncaught& m, job::Phase) const {
    return std::ranges::all_of(m.ranks,
                               [&](std::uint32_t rank) { return is_rank_of(host, rank) && has_started(rank); });
  }
  bool in_order(int host, const wire::FenceIn&, job::Phase) { return starting_.contains(host); }
  /// Allowed once per host with programs that may need PMIx.
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

  /// The rank may also have ended, because dlaunch-pmix forwards a rank's request with a delay.
  bool has_started(std::uint32_t rank) const { return states_[rank] >= State::started; }
  bool step(std::uint32_t rank, State from, State to) { return std::exchange(states_[rank], to) == from; }

  const plan::Plan& plan_;
  std::vector<State> states_;
  std::set<int> starting_;   // hosts with requested rank starts
  std::set<int> have_pmix_;  // hosts that requested dlaunch-pmix
};

}  // namespace dlaunch::launcher
