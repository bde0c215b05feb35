// Ways to reach an agent. To the launcher a local child, an ssh host and a test's fake are the same: a byte stream.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "sys/fd.h"

namespace dlaunch::transport {

/// Why a way to a host ended before its agent did, as far as the transport itself knows.
struct Disconnect {
  /// When a new attempt may help: never; once the host is up (--wait-hosts); soon, by itself (a throttling sshd).
  enum class Retry { never, when_up, soon };
  std::string what;  ///< "cannot connect to 10.0.0.3 port 22": the phase, named for the user; empty: not known
  std::string why;   ///< "Connection refused"
  std::string hint;  ///< the one thing to do; may be empty
  Retry retry = Retry::never;
};

struct Connection {
  sys::Fd stream;               ///< both ways; it ends when the agent does
  bool passes_fds = false;      ///< a unix socket to an agent on this machine: descriptors can come along
  bool bootstrap = false;       ///< there is a shell at the other end, which must become an agent first (bootstrap.h)
  std::string agent_path = {};  ///< with bootstrap: an agent installed there; empty: it brings its own
  sys::Fd errors = {};          ///< what the way there says for itself (ssh's stderr); may be none
  std::function<Disconnect()> disconnect =
      {};  ///< asked for once the stream has ended; empty: the transport cannot know
  /// Waits until all that was written to the stream has left this process; empty: it has as soon as it was written.
  /// False when the time is over first.
  std::function<bool(std::chrono::steady_clock::time_point deadline)> passed_on_by = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts an agent on the host. Does not wait for it to answer.
  virtual Result<Connection> open(const plan::Host& host) = 0;
  /// After the job: waits for what open() started to be gone, each wait bounded.
  virtual void close() = 0;
};

/// This machine by its own agent, all other hosts by another way. Both must outlive it.
class ByHost : public Transport {
 public:
  ByHost(Transport& here, Transport& elsewhere) : here_(here), elsewhere_(elsewhere) {}

  Result<Connection> open(const plan::Host& host) override { return (host.local ? here_ : elsewhere_).open(host); }
  void close() override {
    here_.close();
    elsewhere_.close();
  }

 private:
  Transport& here_;
  Transport& elsewhere_;
};

}  // namespace dlaunch::transport
