// A promise of dlaunch as a class: observes a world, and names each way in which the promise was broken. The judgement
// depends on causes (a rank failed by itself, a host froze), not on times.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"
#include "promises/history.h"
#include "world/world.h"

namespace sim {

struct Facts {
  World& world;
  const dlaunch::plan::Plan& plan;  ///< of the last round
  const History& history;
  const dlaunch::JobOptions& options;
  Ns ended;                              ///< time of the job's end
  const dlaunch::job::Outcome* outcome;  ///< nullptr: the job did not end, or ended with an error
};

class Promise : public Observer {
 public:
  virtual void job_ended(const Facts& facts) { (void)facts; }
  /// Some time after the job, without a launcher.
  virtual void settled(const Facts& facts) { (void)facts; }
  const std::set<std::string>& broken() const { return broken_; }

 protected:
  void broke(std::string how) { broken_.insert(std::move(how)); }

 private:
  std::set<std::string> broken_;
};

/// All promises; `world` and `history` outlive them.
std::vector<std::unique_ptr<Promise>> all_promises(World& world, const History& history);

}  // namespace sim
