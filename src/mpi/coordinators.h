// The launcher's part of MPI: PmiCoordinator and PmixCoordinator exchange data between hosts. Owned by WireUp; plan and
// hosts must outlive these objects.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "pmi/fence_collector.h"
#include "pmix/collectives.h"
#include "pmix/published_data.h"
#include "wire/message.h"

namespace dlaunch::mpi {

/// The newest world as described to all of its hosts, without the number of ranks on each. Linear in hosts and ranks;
/// built once for all hosts.
wire::MpiWorld newest_world(const plan::Plan& plan);

/// The name of a world's key-value space.
std::string space_name(const plan::Plan& plan, int world);

/// The launcher's part of PMI: fences and names across hosts. Owned by WireUp; plan and hosts must outlive this object.
class PmiCoordinator {
 public:
  PmiCoordinator(const plan::Plan& plan, launcher::Hosts& hosts);

  /// The plan has another world, with `pairs` in its initial key-value space. `parent` is the space of the world that
  /// requested the spawn.
  void add_world(std::vector<std::string> pairs, std::string parent);
  /// The description of the newest world for its hosts.
  const wire::MpiWorld& newest() const { return newest_; }
  /// Takes an agent's message. Returns the protocol error, or an empty text.
  std::string fence(int host, wire::FenceIn& fence);
  void rank_ended(int id);
  /// Returns false if no rank can have sent this request.
  bool name(int host, const wire::NameAsk& ask);
  /// A warning for the user, returned once; empty: no warning.
  std::string warning() { return std::exchange(warning_, {}); }

 private:
  void share(int world);

  const plan::Plan& plan_;
  launcher::Hosts& hosts_;
  std::deque<pmi::FenceCollector> gathers_;  // by world
  wire::MpiWorld newest_;
  pmi::NameService names_;
  std::string warning_;
};

class PmixCoordinator {
 public:
  /// `program` is the path of dlaunch-pmix on this machine; empty: not installed.
  PmixCoordinator(const plan::Plan& plan, launcher::Hosts& hosts, std::string program);

  /// The plan has another world, requested by the rank `parent`.
  void add_spawned_world(int parent);
  /// Adds the PMIx part of the world's description for a host.
  void describe(int host, wire::MpiWorld& world) const;

  /// Takes an agent's message. Returns the protocol error, or an empty text.
  std::string collect(int host, const wire::PmixCollect& collect);
  void want(int host, const wire::PmixWant& want);
  std::string modex(int host, wire::PmixModex& modex);
  std::string names(int host, const wire::PmixNames& names);
  void program(int host, const wire::PmixProgramAsk& ask);
  std::string event(int host, const wire::PmixEvent& event);
  /// `world` is the new world; 0: the spawn failed.
  void spawned(int host, std::uint32_t id, int world);
  void rank_ended(int rank);
  /// Removes the files that a lost agent on this machine could not remove.
  void host_lost(int host) const;
  /// A warning for the user, returned once; empty: no warning.
  std::string warning() { return std::exchange(warning_, {}); }

 private:
  struct Wanted {
    int host = 0;          // the host that requests the data
    std::uint32_t id = 0;  // number of its request
    std::uint32_t of = 0;  // the rank whose data is requested
  };

  bool served() const;
  void add_world(std::optional<int> parent);
  pmix::ProcId process(int id) const;
  void send_program(int host, const wire::PmixProgramAsk& ask);
  void share();
  void answer(const pmix::PublishedData::Answers& answers);
  void refuse(const Wanted& wanted, pmix::PmixStatus status);

  const plan::Plan& plan_;
  launcher::Hosts& hosts_;
  const std::string program_;
  const std::string space_;  // random, so that other processes cannot guess the name
  std::vector<wire::PmixWorld> worlds_;
  size_t named_ = 0;             // number of hosts in worlds_
  std::set<int> program_hosts_;  // hosts that requested the program
  pmix::Collectives collectives_;
  pmix::PublishedData published_;
  std::vector<bool> ended_;  // by id
  std::map<std::uint32_t, Wanted> wanted_;
  std::uint32_t next_ = 0;
  std::string bytes_;  // the program's content, after a remote host requested the program
  std::string warning_;
};

}  // namespace dlaunch::mpi
