// One host's agent as the launcher sees it: the way to it, the link, its heartbeat, and what the agent says as events.
// Every wait for it has a deadline. Owned by the launcher; its handlers must outlive it.
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

/// Why there is no agent, or none any more.
struct HostFailure {
  std::string why;
  std::string hint = {};  ///< may be empty
  transport::Disconnect::Retry retry = transport::Disconnect::Retry::never;
};

class HostLink {
 public:
  struct Handlers {
    std::function<void(wire::Message&& message, std::deque<sys::Fd>& fds)> message;
    std::function<void(const HostFailure& loss)> lost;
    std::function<void(const std::string& text)> detail;  ///< noise and errors of the way there, for -v
  };

  HostLink(asio::io_context& io, transport::Connection opened, const JobOptions& settings, Handlers handlers);

  bool passes_fds() const { return passes_fds_; }
  /// Before there is an agent messages are kept for it.
  void send(const wire::Message& message);
  /// What the agent, or another, made us say. Once too much of it waits for the agent to read it, the host is lost.
  void answer(const wire::Message& message);
  /// The descriptor that must take more before all is sent, if it does not yet.
  std::optional<int> flush();
  /// Waits until what was sent has left this process and its threads.
  void pass_on_by(std::chrono::steady_clock::time_point deadline);
  /// We were stopped: silence until now was ours.
  void resumed();
  void close();

 private:
  void connect(sys::Fd stream, const std::string& first);
  void wait_ready();
  void beat();
  /// The way ended: the transport knows best why, if it knows.
  void ended(HostFailure loss);
  /// With what the way there said last.
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
  bool answered_ = false;
  size_t answers_ = 0;  // bytes since nothing waited
  bool deaf_ = false;   // and so to be lost
  asio::steady_timer losing_;
  std::function<transport::Disconnect()> disconnect_;
  std::function<bool(std::chrono::steady_clock::time_point)> passed_on_by_;
  Handlers handlers_;
};

}  // namespace dlaunch::launcher
