// What connects a list of hosts with their agents: loop, transports, links. run() makes one when the first host is to
// be reached, and lends it to all that need hosts: the questions before a plan, the job, `check`. Streams, log and
// listener must outlive it. Its destructor closes all that is open and restores the process's state.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <memory>
#include <vector>

#include "allocate/name_resolver.h"
#include "base/time.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "launcher/host_query.h"
#include "launcher/hosts.h"
#include "output/standard_streams.h"
#include "sys/process_state.h"
#include "sys/reserved_ports.h"
#include "transport/local.h"
#include "transport/transport.h"

namespace dlaunch::app {

class HostSession {
 public:
  /// `elsewhere`: what reaches other hosts, lent and closed with the session; null: as the options say.
  HostSession(std::string job_id, JobOptions options, output::StandardStreams& streams, spdlog::logger& log,
              Listener& listener, transport::Transport* elsewhere = nullptr);
  ~HostSession() { close(); }
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  asio::io_context& io() { return io_; }
  launcher::Hosts& hosts() { return hosts_; }
  const JobOptions& options() const { return options_; }
  output::StandardStreams& streams() { return streams_; }
  spdlog::logger& log() { return log_; }
  Listener& listener() { return listener_; }
  /// Ports that the job's ranks will bind, reserved until they start.
  sys::ReservedPorts& ports() { return ports_; }

  /// Asks the hosts; the listener hears of progress. The first call connects to them; later calls must be for the same
  /// hosts.
  launcher::HostQuery::Result query(const std::vector<plan::Host>& hosts, launcher::HostQuery::Question question,
                                    launcher::HostQuery::Commands commands = {});

  /// A wait for something other than hosts, during which heartbeats go on. This object must outlive it.
  allocate::NameResolver::Wait waiter() {
    return [this](const sys::Fd& fd, Time deadline) { wait_readable(fd, deadline); };
  }

  /// Starts this machine's agent, so that it gets ready while dlaunch finds out what to do with it, if anything.
  void start_here_early() { here_.start_early(); }

  /// Waits for a bounded time for what was started to end. May be called twice.
  void close();

 private:
  void wait_readable(const sys::Fd& fd, Time deadline);
  std::unique_ptr<transport::Transport> transport_elsewhere(const std::string& job_id);

  const sys::ProcessState before_;
  const JobOptions options_;
  output::StandardStreams& streams_;
  spdlog::logger& log_;
  Listener& listener_;
  sys::ReservedPorts ports_;
  transport::Local here_;
  const std::unique_ptr<transport::Transport> elsewhere_;  // null where one was lent
  transport::ByHost transport_;
  asio::io_context io_{1};
  launcher::Hosts hosts_;
};

}  // namespace dlaunch::app
