// The interface through which the launcher connects to agents. A local child, an ssh host and a fake of a test all look
// like a byte stream. Called only from the launcher's thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "net/tcp.h"
#include "sys/fd.h"

namespace dlaunch::transport {

using dlaunch::Disconnect;

struct Connection {
  sys::Fd stream;               ///< both directions; ends together with the agent
  bool passes_fds = false;      ///< a unix socket to an agent on this machine; can pass descriptors
  bool bootstrap = false;       ///< the other side is a shell that must first become an agent (bootstrap.h)
  std::string agent_path = {};  ///< with bootstrap: an agent installed on the host; empty: the launcher sends its own
  sys::Fd errors = {};          ///< stderr of the transport itself, for example of ssh; may be empty
  std::function<Disconnect()> disconnect = {};  ///< call after the end of the stream; empty: reason unknown
  /// Waits until all bytes written to the stream have left this process. Returns false at the deadline. Empty: bytes
  /// leave at once.
  std::function<bool(std::chrono::steady_clock::time_point deadline)> passed_on_by = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts an agent on the host. Does not wait for an answer.
  virtual Result<Connection> open(const plan::Host& host) = 0;
  /// Whether open() can start another agent on the host after the first one was lost.
  virtual bool reconnects(const plan::Host& host) const {
    (void)host;
    return true;
  }
  /// Called after a series of open() calls, so that their work can start in one step.
  virtual void open_together() {}
  /// A child of this process has ended, and the caller has reaped the child.
  virtual void reaped(int /*pid*/, int /*wait_status*/) {}
  /// Call after the job. Waits, for a bounded time, until all processes started by open() are gone.
  virtual void close() = 0;
};

/// Uses one transport for this machine and another for all other hosts. Both must outlive the object.
class ByHost : public Transport {
 public:
  /// `before_elsewhere` is called before each host that is not this machine; may be empty.
  ByHost(Transport& here, Transport& elsewhere, std::function<void()> before_elsewhere = {})
      : here_(here), elsewhere_(elsewhere), before_elsewhere_(std::move(before_elsewhere)) {}

  Result<Connection> open(const plan::Host& host) override {
    if (!host.local && before_elsewhere_) before_elsewhere_();
    return (host.local ? here_ : elsewhere_).open(host);
  }
  bool reconnects(const plan::Host& host) const override { return (host.local ? here_ : elsewhere_).reconnects(host); }
  void open_together() override { elsewhere_.open_together(); }
  void reaped(int pid, int wait_status) override { here_.reaped(pid, wait_status); }
  void close() override {
    here_.close();
    elsewhere_.close();
  }

 private:
  Transport& here_;
  Transport& elsewhere_;
  const std::function<void()> before_elsewhere_;
};

}  // namespace dlaunch::transport
