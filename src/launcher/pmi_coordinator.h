// The launcher's part of PMI: fences and names across hosts. Owned by WireUp; plan and hosts must outlive this object.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/plan.h"
#include "launcher/hosts.h"
#include "pmi/fence_collector.h"
#include "pmi/name_service.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class PmiCoordinator {
 public:
  PmiCoordinator(const plan::Plan& plan, Hosts& hosts);

  /// The plan has another world, with `pairs` in its initial key-value space. `parent` is the space of the world that
  /// requested the spawn.
  void add_world(std::vector<std::string> pairs, std::string parent);
  /// The description of the newest world for its hosts (launcher/frames.h).
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
  Hosts& hosts_;
  std::deque<pmi::FenceCollector> gathers_;  // by world
  wire::MpiWorld newest_;
  pmi::NameService names_;
  std::string warning_;
};

}  // namespace dlaunch::launcher
