// Reaching an agent. To the launcher a local child, an ssh host and a test's fake are the same: a byte stream.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "sys/fd.h"

namespace dlaunch::transport {

/// Why the connection to a host ended before its agent did, as far as the transport knows.
struct Disconnect {
  /// When another attempt may help: never; once the host is up (--wait-hosts); soon, by itself (a throttling sshd).
  enum class Retry { never, when_up, soon };
  std::string what;  ///< "cannot connect to 10.0.0.3 port 22": the phase, in the user's words; empty: unknown
  std::string why;   ///< "Connection refused"
  std::string hint;  ///< the one thing to do; may be empty
  Retry retry = Retry::never;
  bool nothing_left = false;  ///< all that the job had on the host has ended
};

struct Connection {
  sys::Fd stream;               ///< both directions; it ends when the agent does
  bool passes_fds = false;      ///< a unix socket to an agent on this machine, which can carry descriptors
  bool bootstrap = false;       ///< a shell is on the other side and must become an agent first (bootstrap.h)
  std::string agent_path = {};  ///< with bootstrap: an agent installed there; empty: the launcher sends its own
  sys::Fd errors = {};          ///< stderr of the transport itself, such as ssh's; may be none
  std::function<Disconnect()> disconnect = {};  ///< called once the stream has ended; empty: the transport cannot know
  /// Waits until all that was written to the stream has left this process. False at the deadline. Empty: it leaves as
  /// it is written.
  std::function<bool(std::chrono::steady_clock::time_point deadline)> passed_on_by = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts an agent on the host. Does not wait for it to answer.
  virtual Result<Connection> open(const plan::Host& host) = 0;
  /// Called after a series of open() calls: what they began may be started in one step.
  virtual void open_together() {}
  /// To be called after the job: waits, for a bounded time, until what open() started is gone.
  virtual void close() = 0;
};

/// Reaches this machine by one transport, all other hosts by another. Both must outlive it.
class ByHost : public Transport {
 public:
  ByHost(Transport& here, Transport& elsewhere) : here_(here), elsewhere_(elsewhere) {}

  Result<Connection> open(const plan::Host& host) override { return (host.local ? here_ : elsewhere_).open(host); }
  void open_together() override { elsewhere_.open_together(); }
  void close() override {
    here_.close();
    elsewhere_.close();
  }

 private:
  Transport& here_;
  Transport& elsewhere_;
};

}  // namespace dlaunch::transport
