// One host's agent as the launcher sees it: the link, its heartbeat, and what the agent says as events. Owned by the
// launcher; its handlers must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "launcher/settings.h"
#include "link/heartbeat.h"
#include "link/link.h"
#include "transport/transport.h"

namespace dlaunch::launcher {

class HostLink {
 public:
  struct Handlers {
    std::function<void(int host, wire::Message&& message, std::deque<sys::Fd>& fds)> message;
    std::function<void(int host, const std::string& why)> lost;
  };

  HostLink(asio::io_context& io, int host, transport::Opened opened, const Settings& settings, Handlers handlers);

  bool passes_fds() const { return passes_fds_; }
  void send(const wire::Message& message) { link_.send(message); }
  void flush() { link_.flush(); }
  /// We were stopped: silence until now was ours.
  void resumed() { heartbeat_.resumed(std::chrono::steady_clock::now()); }
  void close();

 private:
  void beat();
  void lose(const std::string& why);

  const int host_;
  const bool passes_fds_;
  link::Link link_;
  asio::steady_timer timer_;
  link::Heartbeat heartbeat_;
  Handlers handlers_;
};

}  // namespace dlaunch::launcher
