// Whether what an agent says of ranks comes from their own host and in its order. What comes too early or twice would
// leave the job waiting for what never comes. The companion counts as the rank after the last. PURE. Owned by the
// launcher; the plan must outlive it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/job.h"
#include "plan/plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class RankOrder {
 public:
  explicit RankOrder(const plan::Plan& plan) : plan_(plan), states_(plan.ranks.size() + 1) {}

  /// The launcher asked for its start.
  void asked(int rank) {
    states_.resize(plan_.ranks.size() + 1);  // it may have grown
    states_[static_cast<size_t>(rank)] = State::asked;
  }

  /// Empty, or what is wrong.
  template <class Message>
  std::string check(int host, const Message& message, job::Phase phase) {
    if constexpr (requires { message.rank; }) {
      if (!is_rank_of(host, message.rank)) return "its agent speaks of a rank that is not its own";
    }
    return in_order(message, phase) ? "" : "its agent speaks out of order";
  }

 private:
  enum class State : unsigned char { planned, asked, started, ended };

  bool is_rank_of(int host, std::uint32_t rank) const {
    if (rank == plan_.ranks.size()) return plan_.companion && plan_.companion->host == host;
    return rank < plan_.ranks.size() && plan_.ranks[rank].host == host;
  }

  bool in_order(const wire::Started& m, job::Phase) { return step(m.rank, State::asked, State::started); }
  bool in_order(const wire::NotStarted& m, job::Phase) {
    const State before = std::exchange(states_[m.rank], State::ended);
    return before == State::asked || before == State::started;
  }
  bool in_order(const wire::Ended& m, job::Phase) { return step(m.rank, State::started, State::ended); }
  bool in_order(const wire::NameAsk& m, job::Phase) const { return in_mpi(m.rank); }
  bool in_order(const wire::SpawnAsk& m, job::Phase) const { return in_mpi(m.rank); }
  bool in_order(const wire::Aborted& m, job::Phase) const { return in_mpi(m.rank); }
  bool in_order(const wire::Output& m, job::Phase) const { return states_[m.rank] >= State::started; }
  bool in_order(const wire::Clean&, job::Phase phase) const { return phase == job::Phase::finishing; }
  template <class Other>
  bool in_order(const Other&, job::Phase) const {
    return true;
  }

  /// Or was: dlaunch-pmix tells what a rank has asked in its own time.
  bool in_mpi(std::uint32_t rank) const { return rank < plan_.ranks.size() && states_[rank] >= State::started; }
  bool step(std::uint32_t rank, State from, State to) { return std::exchange(states_[rank], to) == from; }

  const plan::Plan& plan_;
  std::vector<State> states_;
};

}  // namespace dlaunch::launcher
