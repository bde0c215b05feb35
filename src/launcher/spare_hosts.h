// Hosts of the allocation without ranks. A spawn that needs such a host connects to the host and waits. Owned by
// WireUp; all constructor arguments must outlive this object.
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
    int host = 0;  ///< of the requesting rank
    wire::SpawnAsk ask;
    std::set<int> lacks = {};  ///< hosts that are not ready
  };

  SpareHosts(plan::Plan& plan, Hosts& hosts, std::function<void(const job::Event&)> happened)
      : plan_(plan), hosts_(hosts), happened_(std::move(happened)) {}

  static constexpr size_t kMostWaiting = 64;  ///< spawns at one time; each may have 16 MiB of arguments

  /// Connects to hosts of the new world that are not ready. If there are any, takes the request and returns true;
  /// ready() or lost() returns the request later.
  bool wait_for_hosts(const plan::SpawnPlan& spawned, int host, wire::SpawnAsk& ask);
  bool full() const { return waiting_.size() >= kMostWaiting; }

  /// The spawns for which this host was the last missing host.
  std::vector<Waiting> ready(int host);
  /// The spawns that needed this host. The planner no longer uses the host.
  std::vector<Waiting> lost(int host);

 private:
  std::vector<Waiting> take(const std::function<bool(Waiting&)>& wanted);

  plan::Plan& plan_;
  Hosts& hosts_;
  const std::function<void(const job::Event&)> happened_;
  std::set<int> connecting_;  // neither ready nor lost yet
  std::vector<Waiting> waiting_;
};

}  // namespace dlaunch::launcher
