// All that lies between a list of hosts and their agents: loop, transports, links. run() makes it once, when the first
// host is to be reached, and lends it to what needs hosts: the questions before a plan, the job, `check`. Streams, log
// and listener must outlive it. Whatever it still has open is closed with it, and the process is then as it was before.
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
  HostSession(std::string job_id, JobOptions options, output::StandardStreams& streams, spdlog::logger& log,
              Listener& listener);
  ~HostSession() { close(); }
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  asio::io_context& io() { return io_; }
  launcher::Hosts& hosts() { return hosts_; }
  const JobOptions& options() const { return options_; }
  output::StandardStreams& streams() { return streams_; }
  spdlog::logger& log() { return log_; }
  Listener& listener() { return listener_; }
  /// Ports that the job's ranks will bind: kept from others until they start.
  sys::ReservedPorts& ports() { return ports_; }

  /// Asks the hosts; the listener hears of progress. The first time it opens them; later ones must be of the same
  /// hosts.
  launcher::HostQuery::Result survey(const std::vector<plan::Host>& hosts, launcher::HostQuery::Question question,
                                     launcher::HostQuery::Commands inquiry = {});

  /// Waits for something else than hosts, which meanwhile hear that we live. This must outlive it.
  allocate::NameResolver::Wait waiter() {
    return [this](const sys::Fd& fd, Time deadline) { wait_readable(fd, deadline); };
  }

  /// The agent of this machine gets ready while it is found out what it shall do, if anything.
  void start_here_early() { here_.start_early(); }

  /// Waits for what was started, each wait bounded. May be called twice.
  void close();

 private:
  void wait_readable(const sys::Fd& fd, Time deadline);
  std::unique_ptr<transport::Transport> transport_elsewhere();

  const sys::ProcessState before_;
  const JobOptions options_;
  output::StandardStreams& streams_;
  spdlog::logger& log_;
  Listener& listener_;
  sys::ReservedPorts ports_;
  transport::Local here_;
  const std::unique_ptr<transport::Transport> elsewhere_;
  transport::ByHost transport_;
  asio::io_context io_{1};
  launcher::Hosts hosts_;
};

}  // namespace dlaunch::app
