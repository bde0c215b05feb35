// What happens between a host's Hello and its being ready: the directories of its ranks are made and the files of
// --stage sent into them, under the credit that its agent grants. Passive but for what it sends. Owned by the Launcher;
// all that is given must outlive it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "launcher/host_link.h"
#include "output/output.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class RankDirStaging {
 public:
  using Send = std::function<void(int host, const wire::Message& message)>;

  RankDirStaging(const plan::Plan& plan, const JobOptions& settings, const std::vector<output::RankFacts>& facts,
                 Send send);

  /// Whether ranks of this host have directories; then begin() must be called and done() awaited.
  bool needed(int host) const;
  void begin(int host);
  /// False when that is more than was sent and not granted yet.
  bool granted(int host, const wire::StageCredit& credit);
  /// nullopt: the agent speaks out of turn. Else the reason for a failure; an empty one: all is done.
  std::optional<HostFailure> done(int host, const wire::Prepared& prepared);

 private:
  struct Progress {
    bool waiting = false;
    size_t sent = 0;
    std::uint32_t credit = 0;
  };

  void send_staged(int host);

  const plan::Plan& plan_;
  const JobOptions& settings_;
  const std::vector<output::RankFacts>& facts_;
  const Send send_;
  std::map<int, Progress> progress_;  // by host
};

}  // namespace dlaunch::launcher
