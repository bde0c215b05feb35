// The promises; see promise.h. Each is described in its source.
#pragma once

#include <map>
#include <set>

#include "promises/promise.h"

namespace sim {

class NothingLeft final : public Promise {
 public:
  void job_ended(const Facts& facts) override;
  void settled(const Facts& facts) override;

 private:
  void agents_left(const Facts& facts);

  std::set<int> unreachable_;  // hosts, at the end of the job
};

class Ends final : public Promise {
 public:
  explicit Ends(World& world) : world_(world) {}
  void fault(const Fault& fault, bool ends) override;
  void sent(int, const dlaunch::wire::Message& message) override {
    finishing_ = finishing_ || std::holds_alternative<dlaunch::wire::Finish>(message);
  }
  void began(const Process& process) override;
  void job_ended(const Facts& facts) override;

 private:
  void never_started(const Facts& facts);
  void silent_at_last(const Facts& facts);

  World& world_;
  std::optional<Ns> at_;            // of the fault
  std::optional<Ns> running_;       // the first rank began
  std::optional<Ns> next_;          // the first rank of the next round began
  bool finishing_ = false;          // Finish was sent
  bool last_in_finishing_ = false;  // the last fault came after it, or after the end of its host's ranks
};

class FirstFailure final : public Promise {
 public:
  explicit FirstFailure(World& world) : world_(world) {}
  void heard(int host, const dlaunch::wire::Message& message) override;
  void fault(const Fault& fault, bool ends) override;
  void job_ended(const Facts& facts) override;

 private:
  void rank_failed(const Facts& facts);
  bool clock_jumped(int host, Ns time) const;
  Ns reaped(int host, Ns time) const;
  bool may_be_lost(const Facts& facts, int host) const;
  void silent_before(const Facts& facts, const History::Failure& first);
  void host_lost(const Facts& facts);

  World& world_;
  std::map<std::pair<int, int>, int> told_;  // by round and rank: the order in which the launcher heard of the ends
  std::vector<std::pair<int, Ns>> jumps_;    // of clocks, by host
  struct Harm {
    std::string kind;
    Ns begin, end;
  };
  std::map<int, std::vector<Harm>> harms_;  // by host
};

class Grace final : public Promise {
 public:
  explicit Grace(World& world) : world_(world) {}
  void ended(const Process& process) override;
  void sent(int host, const dlaunch::wire::Message& message) override;
  void launcher_signalled(int signal) override;
  void fault(const Fault& fault, bool ends) override;
  void stray_signal() override { broke("grace: a signal to a process that was reaped"); }
  void settled(const Facts& facts) override;

 private:
  void second_signal(const Facts& facts);
  void time_limit(const Facts& facts);
  void second_grace(const Facts& facts);
  void signal_to_host(const Facts& facts);
  void later_notice(const Facts& facts);
  void before_deadline(const Facts& facts);
  void after_first(const Facts& facts);

  struct Killed {
    int host;
    bool left;  // by a rank
    std::optional<Ns> asked;
    Ns time;
  };
  World& world_;
  std::vector<Killed> killed_;
  std::map<int, Ns> asked_;                        // by round: the first signal to ranks that ends them
  std::vector<Ns> signals_;                        // of the user, to end the job
  std::vector<std::pair<int, Ns>> notices_;        // USR1 and TERM to the launcher
  std::map<int, std::pair<int, Ns>> told_agents_;  // ranks that ran when their agent got TERM: host and time, by pid
};

class Bytes final : public Promise {
 public:
  void job_ended(const Facts& facts) override;

 private:
  void check_input(const Facts& facts);
};

class OneOfARank final : public Promise {
 public:
  OneOfARank(World& world, const History& history) : world_(world), history_(history) {}
  void began(const Process& process) override;

 private:
  World& world_;
  const History& history_;
};

class Restarts final : public Promise {
 public:
  Restarts(World& world, const History& history) : world_(world), history_(history) {}
  void began(const Process& process) override;
  void sent(int host, const dlaunch::wire::Message& message) override;
  void launcher_signalled(int signal) override;
  void job_ended(const Facts& facts) override;

 private:
  void pause_before(int round);
  bool is_guilty(int host) const;
  std::map<int, std::set<int>> rounds_without_fork(int before) const;

  World& world_;
  const History& history_;
  std::optional<Ns> signalled_;  // the user's first signal that ends the job
  std::map<int, int> ending_;    // the last round whose end the launcher sent to a host
};

}  // namespace sim
