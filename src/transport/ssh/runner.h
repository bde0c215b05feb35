// The thread of one host, from resolving the name to the last byte, with its ssh connection. Shared by the transport
// and the thread; both read the same result.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "sys/fd.h"
#include "sys/pump_idle_flag.h"
#include "transport/ssh/library.h"
#include "transport/ssh/routes.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

// One ssh connection: handshake, host key, authentication, a channel with `sh`, and the bytes. Runs in the host's own
// thread; the watchdog ends each phase at its deadline.

/// The environment of a session. All references must outlive the session.
struct SessionParts {
  const Library& lib;
  const Route& route;
  Watchdog& watchdog;
  Watchdog::Guard& guard;   ///< of the socket
  const sys::Fd& stream;    ///< the launcher's; non-blocking
  const sys::Fd& errors;    ///< receives the remote stderr; non-blocking
  const sys::Fd& noise;     ///< stderr of a proxy command; non-blocking, or empty
  sys::PumpIdleFlag& idle;  ///< of the pump
};

/// The end of a session, and its phase.
struct SessionEnd {
  Disconnect end;  ///< an empty `what`: no error
  bool shook_hands = false;
};

/// Runs a session over a connected socket and returns after its end.
SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const std::string& address);

class Runner {
 public:
  struct Parts {
    std::shared_ptr<const Library> lib;
    std::shared_ptr<Watchdog> watchdog;
    std::function<Result<Route>()> find_route;  ///< called first, in the thread
    sys::Fd stream;                             ///< to the launcher
    sys::Fd errors;                             ///< for the connection's stderr
  };
  explicit Runner(Parts parts);

  /// The main function of the thread. end() has the result before the stream ends.
  void run();
  Disconnect end() const;
  /// True if no byte of the stream waits in this process any more.
  bool passed_on_by(std::chrono::steady_clock::time_point deadline);
  /// True if the thread is about to exit.
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
  sys::PumpIdleFlag idle_{mutex_};
};

}  // namespace dlaunch::transport::ssh
