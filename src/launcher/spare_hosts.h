// Hosts of the allocation that have no rank. A host is connected to once a spawn needs it, and the spawns that need it
// wait until then. Owned by the launcher; all that is given must outlive it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "job/job.h"
#include "launcher/hosts.h"
#include "plan/spawn_plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class SpareHosts {
 public:
  struct Waiting {
    int host = 0;  ///< of the rank that asks
    wire::SpawnAsk ask;
    std::set<int> lacks = {};  ///< hosts that are not ready
  };

  SpareHosts(plan::Plan& plan, Hosts& hosts, std::function<void(const job::Event&)> happened)
      : plan_(plan), hosts_(hosts), happened_(std::move(happened)) {}

  static constexpr size_t kMostWaiting = 64;  ///< spawns at one time; each may have 16 MiB of words

  /// Connects to hosts of the new world that are not ready. If there are some, takes the ask, which ready() or lost()
  /// returns later, and returns true.
  bool wait_for_hosts(const plan::SpawnPlan& spawned, int host, wire::SpawnAsk& ask);
  bool full() const { return waiting_.size() >= kMostWaiting; }

  /// The spawns that waited for this host last, and can go on.
  std::vector<Waiting> ready(int host);
  /// The spawns that needed this host. No rank is planned on it any more.
  std::vector<Waiting> lost(int host);

 private:
  std::vector<Waiting> take(const std::function<bool(Waiting&)>& wanted);

  plan::Plan& plan_;
  Hosts& hosts_;
  const std::function<void(const job::Event&)> happened_;
  std::set<int> connecting_;  // those that are neither ready nor lost yet
  std::vector<Waiting> waiting_;
};

}  // namespace dlaunch::launcher
