// The launcher's part of PMI: fences and names that concern several hosts. Owned by the launcher; plan and hosts must
// outlive it.
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

  /// The plan has another world, with `pairs` in its key-value space from the start. `parent` is the space of the world
  /// whose rank asked for it.
  void add_world(std::vector<std::string> pairs, std::string parent);
  /// What the hosts of the newest world are told of it (launcher/frames.h).
  const wire::MpiWorld& newest() const { return newest_; }
  /// Takes an agent's message. Returns what is wrong with it, or an empty text.
  std::string fence(int host, wire::FenceIn& fence);
  void rank_ended(int id);
  /// False when no rank can have asked this.
  bool name(int host, const wire::NameAsk& ask);
  /// A text that a person should see, once; empty: none.
  std::string complaint() { return std::exchange(complaint_, {}); }

 private:
  void share(int world);

  const plan::Plan& plan_;
  Hosts& hosts_;
  std::deque<pmi::FenceCollector> gathers_;  // by world
  wire::MpiWorld newest_;
  pmi::NameService names_;
  std::string complaint_;
};

}  // namespace dlaunch::launcher
