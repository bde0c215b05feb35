// The launcher's part of PMIx: what concerns several hosts, and dlaunch-pmix for those that have none. Owned by the
// launcher; plan and hosts must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "pmix/collectives.h"
#include "pmix/published_data.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class PmixCoordinator {
 public:
  /// `program`: where dlaunch-pmix is on this machine; empty: there is none.
  PmixCoordinator(const plan::Plan& plan, Hosts& hosts, std::string program);

  /// The plan has another world, which the rank `parent` asked for.
  void grow(int parent);
  /// What the host is told of the world.
  void describe(int host, wire::MpiWorld& world) const;

  /// Empty, or what is wrong with what the agent says.
  std::string collect(int host, const wire::PmixCollect& collect);
  void want(int host, const wire::PmixWant& want);
  std::string modex(int host, wire::PmixModex& modex);
  std::string names(int host, const wire::PmixNames& names);
  void program(int host, const wire::PmixProgramAsk& ask);
  /// Empty, or what is wrong with what the agent says.
  std::string event(int host, const wire::PmixEvent& event);
  /// `world`: that there is now; 0: none, since it cannot be.
  void spawned(int host, std::uint32_t id, int world);
  void rank_ended(int rank);
  /// What the agent of a host on this machine could no longer remove.
  void host_lost(int host) const;
  /// Once: what a person should know; empty: nothing.
  std::string complaint() { return std::exchange(complaint_, {}); }

 private:
  struct Wanted {
    int host = 0;          // that wants it
    std::uint32_t id = 0;  // its number there
    std::uint32_t of = 0;  // whose data it is
  };

  bool served() const;
  void add_world(std::optional<int> parent);
  pmix::ProcId process(int id) const;
  void send_program(int host, const wire::PmixProgramAsk& ask);
  void share();
  void answer(const pmix::PublishedData::Answers& answers);
  void refuse(const Wanted& wanted, pmix::PmixStatus status);

  const plan::Plan& plan_;
  Hosts& hosts_;
  const std::string program_;
  const std::string space_;  // nobody else can guess it
  std::vector<wire::PmixWorld> worlds_;
  size_t named_ = 0;    // hosts that they name
  std::set<int> told_;  // hosts that asked for the program
  pmix::Collectives collectives_;
  pmix::PublishedData board_;
  std::vector<bool> ended_;  // by id
  std::map<std::uint32_t, Wanted> wanted_;
  std::uint32_t next_ = 0;
  std::string bytes_;  // of the program, once another host asked
  std::string complaint_;
};

}  // namespace dlaunch::launcher
