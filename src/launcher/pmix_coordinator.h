// The launcher's part of PMIx: what concerns several hosts, and dlaunch-pmix for hosts without one. Owned by the
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
  /// `program` is the path of dlaunch-pmix on this machine; empty: there is none.
  PmixCoordinator(const plan::Plan& plan, Hosts& hosts, std::string program);

  /// The plan has another world, for which the rank `parent` asked.
  void add_spawned_world(int parent);
  /// Adds what the host is told of the world by PMIx.
  void describe(int host, wire::MpiWorld& world) const;

  /// Takes an agent's message. Returns what is wrong with it, or an empty text.
  std::string collect(int host, const wire::PmixCollect& collect);
  void want(int host, const wire::PmixWant& want);
  std::string modex(int host, wire::PmixModex& modex);
  std::string names(int host, const wire::PmixNames& names);
  void program(int host, const wire::PmixProgramAsk& ask);
  /// The same.
  std::string event(int host, const wire::PmixEvent& event);
  /// `world` is the new world; 0: none could be made.
  void spawned(int host, std::uint32_t id, int world);
  void rank_ended(int rank);
  /// Removes what the agent of a host on this machine could no longer remove.
  void host_lost(int host) const;
  /// A text that a person should see, once; empty: none.
  std::string complaint() { return std::exchange(complaint_, {}); }

 private:
  struct Wanted {
    int host = 0;          // the host that wants the data
    std::uint32_t id = 0;  // number of its request
    std::uint32_t of = 0;  // the rank that has the data
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
  size_t named_ = 0;    // how many hosts they name
  std::set<int> told_;  // hosts that asked for the program
  pmix::Collectives collectives_;
  pmix::PublishedData published_;
  std::vector<bool> ended_;  // by id
  std::map<std::uint32_t, Wanted> wanted_;
  std::uint32_t next_ = 0;
  std::string bytes_;  // the program's, once another host asked for it
  std::string complaint_;
};

}  // namespace dlaunch::launcher
