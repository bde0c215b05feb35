// One host's thread, from its name's addresses to the end of its bytes. Owned by the transport and by the thread, which
// share one result.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "sys/fd.h"
#include "transport/ssh/idle.h"
#include "transport/ssh/library.h"
#include "transport/ssh/route.h"
#include "transport/ssh/session.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

class Runner {
 public:
  struct Parts {
    std::shared_ptr<const Library> lib;
    std::shared_ptr<Watchdog> watchdog;
    std::function<Result<Route>()> find_route;  ///< the first thing that is done, in the thread
    sys::Fd stream;                             ///< to the launcher
    sys::Fd errors;                             ///< what the way says for itself
  };
  explicit Runner(Parts parts);

  /// The thread's whole life. The result is there before the stream ends.
  void run();
  Disconnect end() const;
  /// What was written to the stream has reached this machine's network, or never will.
  bool passed_on_by(std::chrono::steady_clock::time_point deadline);
  /// The thread is about to end.
  bool over() const;

 private:
  bool is_passed_on() const;
  Disconnect reach();
  Disconnect over_tcp();
  Disconnect over_command();
  SessionEnd over(sys::Fd socket, const std::string& address, const sys::Fd& noise);

  Parts parts_;
  Route route_;
  mutable std::mutex mutex_;
  Disconnect end_;
  bool over_ = false;
  Idle idle_{mutex_};
};

}  // namespace dlaunch::transport::ssh
