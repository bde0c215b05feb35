// The connections from a list of hosts to their agents: loop, transports, links. Created by run() at the first need of
// a host, and lent to all users: the queries before the plan, the job, `check`. Streams, log and listener must outlive
// this object. The destructor closes all connections and restores the process's state.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/host.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "launcher/host_query.h"
#include "launcher/hosts.h"
#include "net/this_machine.h"
#include "output/standard_streams.h"
#include "settle/facts.h"
#include "sys/process_state.h"
#include "sys/reserved_ports.h"
#include "transport/local.h"
#include "transport/transport.h"

namespace dlaunch::session {

class HostSession {
 public:
  /// `elsewhere`: the transport to other hosts, closed by the session; null: chosen by the options.
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
  /// Path of --report-pid; empty: no file.
  std::string& pid_file() { return pid_file_; }
  /// Files that options name and dlaunch has read, such as a hostfile; absolute.
  std::vector<std::string>& read_files() { return read_files_; }
  /// Ports that the job's ranks will bind, reserved until the ranks start.
  sys::ReservedPorts& ports() { return ports_; }

  /// Queries the hosts and reports progress to the listener. The first call connects to the hosts; later calls must
  /// pass the same hosts.
  launcher::HostQuery::Result query(const std::vector<plan::Host>& hosts, launcher::HostQuery::Question question,
                                    launcher::HostQuery::Commands commands = {});

  /// Returns a function that waits until a descriptor is readable or the deadline passes. During the wait, heartbeats
  /// continue, but events of the hosts do not call handlers. This object must outlive the returned function.
  net::NameResolver::Wait waiter() {
    return [this](const sys::Fd& fd, Time deadline) { wait_readable(fd, deadline); };
  }

  /// Starts this machine's agent early, in parallel to the launcher's preparation.
  void start_here_early() { here_.start_early(); }

  /// This process runs only this job: close() also ends orphans without the job's environment.
  void own_process() { here_.end_orphans(); }

  /// Waits for a bounded time for the end of started processes. May be called twice.
  void close();

 private:
  class Mailbox;
  void wait_readable(const sys::Fd& fd, Time deadline);
  std::unique_ptr<transport::Transport> transport_elsewhere(const std::string& job_id);

  const sys::ProcessState before_;
  const JobOptions options_;
  output::StandardStreams& streams_;
  spdlog::logger& log_;
  Listener& listener_;
  std::string pid_file_;
  std::vector<std::string> read_files_;
  sys::ReservedPorts ports_;
  transport::Local here_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::unique_ptr<transport::Transport> elsewhere_;  // null if a transport was lent
  transport::ByHost transport_;
  asio::io_context io_{1};
  launcher::Hosts hosts_;
};

/// HostSession::query() of all hosts. If a host cannot be used, prints why, for all such hosts together; the Error then
/// has no text.
Result<std::vector<launcher::QueriedHost>> query_all(HostSession& session, const std::vector<plan::Host>& hosts,
                                                     launcher::HostQuery::Question question,
                                                     launcher::HostQuery::Commands commands = {});

/// As query_all(), for the CPUs and devices of hosts.
Result<settle::QueryHosts::Answer> query(HostSession& session, const settle::QueryHosts& question);

/// Keeps the open hosts of the plan, with the plan's numbers, and drops all other hosts.
void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan);

/// The Error for a signal before the start of the job.
Error interrupted_error(int signal);

}  // namespace dlaunch::session
