// Prepares a host between its Hello and its ready state: its agent checks, creates and locks the directories of its
// ranks. When all hosts are ready, the agents empty the directories, and get the files of --stage under their credit.
// Does no I/O of its own except through `send`. Owned by the Launcher; all constructor arguments must outlive this
// object.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "launcher/host_link.h"
#include "output/output.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class RankDirStaging {
 public:
  static constexpr std::chrono::seconds kNoteAfter{10};  ///< without an answer of the host

  using Send = std::function<void(int host, const wire::Message& message)>;

  RankDirStaging(const plan::Plan& plan, const JobOptions& settings, const std::vector<output::RankFacts>& facts,
                 Send send);

  /// Whether ranks of this host have directories. If so, call begin() and wait for done().
  bool needed(int host) const;
  void begin(int host, Time now);
  /// All hosts of the job are ready. Then wait for done() of each host that had begin().
  void fill(Time now);
  /// Whether a host has not answered begin() or fill().
  bool waits() const;
  /// The host is lost.
  void forget(int host) { progress_.erase(host); }
  /// Returns false if the agent grants more than was sent.
  bool granted(int host, const wire::StageCredit& credit, Time now);
  /// nullopt: unexpected message of the agent. Else the reason of a failure; an empty reason: success.
  std::optional<HostFailure> done(int host, const wire::Prepared& prepared);
  /// Once, after kNoteAfter: a note with the hosts that are not ready, for example because of a frozen disk. Else
  /// empty.
  std::string note(Time now);

 private:
  struct Progress {
    bool waiting = false;
    size_t sent = 0;
    std::uint32_t credit = 0;
    bool filling = false;
    Time since = {};  // the last message in either direction
  };

  void send_staged(int host, Progress& progress);

  const plan::Plan& plan_;
  const JobOptions& settings_;
  const std::vector<output::RankFacts>& facts_;
  const Send send_;
  std::map<int, Progress> progress_;  // by host
  bool noted_ = false;
};

}  // namespace dlaunch::launcher
