// Reports signals from outside the job to the launcher: a batch system signals this process, or the guardian, which
// forwards the signal. Without guardian or launcher, the agent ends its ranks. Owned by the Agent; loop, link and watch
// must outlive this object.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "agent/launcher_watch.h"
#include "base/time.h"
#include "link/link.h"

namespace dlaunch::agent {

class TerminationNotices {
 public:
  struct Handlers {
    std::function<void(const std::string& why)> lost;  ///< no launcher is there to decide
    std::function<std::string()> oom;  ///< the text about processes that the kernel killed; may be empty
  };
  TerminationNotices(asio::io_context& io, link::Link& link, const LauncherWatch& watch, Handlers handlers);

  /// `guardian`: the parent process. If it has died, SIGTERM ends the agent and is not reported.
  void start(pid_t guardian) { guardian_ = guardian; }
  /// This process received one of kForwarded, or its forwarded number.
  void received(int signal);
  /// Clean was sent: reports nothing more.
  void finish() { finishing_ = true; }
  /// The launcher is lost.
  void stop() { answer_timer_.cancel(); }

 private:
  void forwarded_by_guardian(int signal);
  void report(int signal, bool direct);

  asio::io_context& io_;
  link::Link& link_;
  const LauncherWatch& watch_;
  const Handlers handlers_;
  pid_t guardian_ = 0;
  asio::steady_timer answer_timer_;
  std::map<int, asio::steady_timer> held_warnings_;        // forwarded USR1 and USR2
  std::map<int, std::pair<Time, bool>> reported_signals_;  // the last report of each signal, and whether it was direct
  bool finishing_ = false;
};

}  // namespace dlaunch::agent
