// One host's agent as the launcher sees it: connection, link, heartbeat, and the agent's messages. Every wait for the
// agent has a deadline. Owned by the launcher; its handlers must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "launcher/bootstrap_stream.h"
#include "launcher/error_tail.h"
#include "link/heartbeat.h"
#include "link/link.h"
#include "transport/transport.h"

namespace dlaunch::launcher {

/// Why there is no agent on a host, or no longer one.
struct HostFailure {
  std::string why;
  std::string hint = {};  ///< may be empty
  transport::Disconnect::Retry retry = transport::Disconnect::Retry::never;
  bool nothing_left = false;  ///< a resource manager has ended all that the job had there
  std::string ordered = {};   ///< what the manager said of that, where it was an order and no failure; else empty
};

class HostLink {
 public:
  struct Handlers {
    std::function<void(wire::Message&& message, std::deque<sys::Fd>& fds)> message;
    std::function<void(const HostFailure& loss)> lost;
    std::function<void(const std::string& text)> detail;  ///< noise and stderr of the connection, for -v
  };

  HostLink(asio::io_context& io, transport::Connection opened, const JobOptions& settings, Handlers handlers);

  bool passes_fds() const { return passes_fds_; }
  /// Messages are kept until there is an agent.
  void send(const wire::Message& message);
  /// Sends an answer to a message of this agent or another. The host is lost once it leaves too many answers unread.
  void answer(const wire::Message& message);
  /// The descriptor that must become writable before all is sent; none when all is.
  std::optional<int> flush();
  /// Waits until what was sent has left this process and its threads.
  void pass_on_by(std::chrono::steady_clock::time_point deadline);
  /// This process was stopped: only we were silent.
  void resumed();
  /// The line by which a resource manager's command says that it ends what it started; empty: it has said none.
  std::string manager_said();
  void close();

 private:
  void connect(sys::Fd stream, const std::string& first);
  void wait_ready();
  HostFailure no_answer() const;
  void beat();
  /// The connection ended; the transport's reason is used, if it has one.
  void ended(HostFailure loss);
  /// Reports the loss, with the last line of the connection's stderr.
  void lose(HostFailure loss);

  asio::io_context& io_;
  const bool passes_fds_;
  const std::chrono::milliseconds ready_wait_;
  std::optional<ErrorTail> errors_;
  std::optional<BootstrapStream> bootstrap_;
  std::optional<link::Link> link_;
  std::vector<wire::Message> early_;
  asio::steady_timer timer_;
  link::Heartbeat heartbeat_;
  std::optional<std::chrono::steady_clock::time_point> waits_for_first_;  // of an agent that connects to us by itself
  bool answered_ = false;
  size_t answers_ = 0;  // bytes of answers since the last time that none waited
  bool deaf_ = false;   // it left too many answers unread, and is about to be lost
  asio::steady_timer losing_;
  std::function<transport::Disconnect()> disconnect_;
  std::function<bool(std::chrono::steady_clock::time_point)> passed_on_by_;
  Handlers handlers_;
};

}  // namespace dlaunch::launcher
